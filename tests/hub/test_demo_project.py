"""The sample project: complete, deterministic, and equally searchable on both databases."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from accord.hub.demo_project import demo_operation, first_epic
from accord.operations.arguments import convert
from accord.operations.errors import ConflictError
from accord.operations.operation import Outcome
from tests.hub.world import World, world_at
from tests.store.cluster import Cluster

QUERIES = (
    *("ferry", "booking", "the booking service shall", "REQ-008", "pasenger list", "refnd", "scan"),
    *(
        "how long is a reservation held",
        "15 minutes",
        "harbour",
        "privacy data",
        "zzz",
        "dogs",
        "*",
    ),
)

_SOURCE = re.compile("<!-- source: [0-9a-f]{32} -->\n\n")


async def load(world: World) -> Outcome:
    operation = demo_operation()
    return await world.runner.run(operation, convert(operation, {}), world.admin)


async def test_it_is_a_whole_project(world: World) -> None:
    report = (await load(world)).result
    assert Counter(row.kind for row in report.rows) == {
        "label": 8,
        "epic": 8,
        "user_story": 37,
        "acceptance_criteria": 43,
        "requirement": 120,
        "steering_document": 3,
        "prompt": 3,
        "link": 57,
        "comment": 28,
    }
    assert [row for row in report.rows if row.action != "created" or row.notes] == []
    assert (await world.call("get_active_prompt")).name == "analyst"
    assert [each.name for each in (await world.call("list_baselines")).items] == ["Season opening"]


async def test_the_linter_finds_nothing_in_it(world: World) -> None:
    assert (await load(world)).hints == ()


async def test_it_is_loaded_once(world: World) -> None:
    await load(world)
    with pytest.raises(ConflictError, match="the sample project is here already"):
        await load(world)


async def test_it_gets_names_of_its_own_where_others_are_there(world: World) -> None:
    mine = await world.call("create_epic", title="Mine")
    await load(world)
    assert (await world.call("get_epic", id="EP-001")).id == mine.id
    assert (await world.call("list_epics")).total == 9


async def test_both_databases_hold_and_find_the_same(cluster: Cluster, tmp_path: Path) -> None:
    answers = []
    for url in (f"sqlite://{tmp_path}/demo.db", cluster.database()):
        async with world_at(url) as world:
            await load(world)
            export = await world.call("export_items", format="markdown")
            found = [await world.call("search_global", query=query, limit=50) for query in QUERIES]
            answers.append((_SOURCE.sub("", export.content), found))
    assert answers[0] == answers[1]


async def everything(world: World, tables: dict[str, str]) -> dict[str, list[str]]:
    """Return the rows that each query finds, by its name."""
    return {
        name: sorted(repr(tuple(row)) for row in await world.store.fetch(query))
        for name, query in tables.items()
    }


@pytest.mark.req("H-26")
async def test_it_touches_nothing_that_it_did_not_make(world: World) -> None:
    """Check names, labels, prompts, people and baselines that the hub already had."""
    epic = await world.call("create_epic", title="Mine", description="See US-001.")
    await world.call("create_user_story", epic_id=epic.id, title="Mine too")
    await world.call("create_label", name="Safety", colour="#000000")
    await world.call("label_item", id=epic.id, label="safety")
    await world.call("create_prompt", world.admin, name="analyst", content="Help me.")
    await world.call("activate_prompt", world.admin, id="analyst")
    await world.call("create_baseline", name="Season opening")
    await world.store.execute(
        "INSERT INTO users (id, username, username_key, role, created_at, updated_at) "
        "VALUES ('00000000-0000-4000-8000-00000000000f', 'mara', 'mara', 'User', $1, $1)",
        "2026-01-01T00:00:00.000000Z",
    )
    mine = "SELECT * FROM {} WHERE created_at > '2026-01-01' ORDER BY 1"
    names = ("items", "labels", "users", "baselines", "comments", "relationships")
    tables = {name: mine.format(name) for name in names}
    tables["entries"] = "SELECT * FROM baseline_entries"
    before = await everything(world, tables)
    report = (await load(world)).result
    after = await everything(world, tables)
    for name, rows in before.items():
        assert set(rows) <= set(after[name]), name
    assert first_epic(report) == "EP-002"
    assert (await world.call("get_active_prompt")).content == "Help me."
    assert report.rows[0].kind == "label"
    assert Counter(row.kind for row in report.rows)["label"] == 7
    people = {row["username"] for row in await world.store.fetch("SELECT username FROM users")}
    assert people >= {"mara", "mara.sample", "jonas"}
    first = await world.call("get_epic", id="EP-002")
    assert (first.title, first.assignee) == ("Booking a crossing", "mara.sample")
    [kept] = [
        each for each in (await world.call("list_baselines")).items if each.name != "Season opening"
    ]
    assert (kept.name, kept.epic_reference_id) == ("Season opening sample", "EP-002")
    entries = await world.call("get_baseline", id=kept.id, limit=100)
    assert "EP-001" not in {each.reference_id for each in entries.items}
    assert (await world.call("get_epic", id="EP-001")).title == "Mine"


@pytest.mark.req("H-26")
async def test_its_texts_name_its_own_items(world: World) -> None:
    epic = await world.call("create_epic", title="Mine")
    await world.call("create_user_story", epic_id=epic.id, title="Mine too")
    await load(world)
    said = await world.call("list_comments", target_id="REQ-002")
    assert "The opening of sales is US-036." in said.items[1].text
    assert (await world.call("get_user_story", id="US-036")).title == "Carry the summer weekend"
    steering = await world.call("get_steering_document", id="STD-001")
    assert steering.epics == [f"EP-{number:03d}" for number in range(2, 10)]


@pytest.mark.req("H-26")
async def test_a_part_of_it_that_is_left_is_not_changed(world: World) -> None:
    await load(world)
    await world.call("delete_epic", world.admin, id="EP-001", force=True)
    await world.call("update_epic", world.admin, id="EP-002", title="My own now")
    with pytest.raises(ConflictError, match="the sample project is here already: see EP-002"):
        await load(world)
    assert (await world.call("get_epic", id="EP-002")).title == "My own now"


@pytest.mark.req("H-26")
async def test_it_can_be_loaded_again_when_it_is_gone(world: World) -> None:
    await load(world)
    for number in range(1, 9):
        await world.call("delete_epic", world.admin, id=f"EP-{number:03d}", force=True)
    for kind, name in (("steering_document", "STD"), ("prompt", "PROMPT")):
        for number in range(1, 4):
            await world.call(
                f"delete_{kind}",
                world.admin,
                id=f"{name}-{number:03d}",
                **({"force": True} if kind == "steering_document" else {}),
            )
    report = (await load(world)).result
    assert report.failed == 0
    assert Counter(row.kind for row in report.rows)["label"] == 0
