"""The sample project: whole, the same each time, and found alike on both databases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from accord.hub.demo.loading import demo_operation
from accord.operations.arguments import convert
from accord.operations.errors import ConflictError
from accord.operations.outcome import Outcome
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
            answers.append((export.content, found))
    assert answers[0] == answers[1]
