"""The history of an item with its links, labels, comments and set-aside hints."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from accord.hub.storage import revisions
from accord.operations.errors import InvalidError
from accord.store import open_store
from tests.hub.world import World
from tests.store.cluster import Cluster

pytestmark = pytest.mark.req("H-61")


async def related(world: World, id: str) -> list[tuple[Any, ...]]:
    page = await world.call("history", id=id, related=True, limit=50)
    assert page.total == len(page.items)
    return [(each.kind or "", each.action, each.reference_id or "") for each in page.items]


async def prepared(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("create_epic", title="Payment")


async def test_links_are_in_the_history_of_both_ends_and_undone_from_it(world: World) -> None:
    await prepared(world)
    link = await world.call(
        "create_relationship", source_id="EP-001", target_id="EP-002", type="depends_on"
    )
    await world.call("update_relationship", id=link.id, type="blocks")
    await world.call("delete_relationship", world.admin, id=link.id)
    expected = [
        ("relationship", "deleted", "EP-001 blocks EP-002"),
        ("relationship", "updated", "EP-001 blocks EP-002"),
        ("relationship", "created", "EP-001 depends_on EP-002"),
        ("", "created", ""),
    ]
    assert await related(world, "EP-001") == expected
    assert await related(world, "EP-002") == expected
    [newest] = (await world.call("history", id="EP-002", related=True, limit=1)).items
    assert (newest.id, newest.change.actor) == (link.id, "ada")
    await world.call("undo", world.admin, change_id=newest.change.id)
    assert (await world.call("get_relationship", id=link.id)).type == "blocks"
    assert (await related(world, "EP-001"))[0] == ("relationship", "created", expected[0][2])
    assert [each.action for each in (await world.call("history", id="EP-001")).items] == ["created"]


async def test_a_link_that_went_with_its_other_end_is_named(world: World) -> None:
    await prepared(world)
    await world.call(
        "create_relationship", source_id="EP-001", target_id="EP-002", type="depends_on"
    )
    await world.call("delete_epic", world.admin, id="EP-002", force=True)
    assert (await related(world, "EP-001"))[0] == (
        *("relationship", "deleted"),
        "EP-001 depends_on EP-002",
    )


async def test_labels_steering_documents_hints_and_comments_are_in_the_history(
    world: World,
) -> None:
    await prepared(world)
    await world.call("create_label", name="urgent", colour="#aa0000")
    await world.call("label_item", id="EP-001", label="urgent")
    await world.call("unlabel_item", id="EP-001", label="urgent")
    await world.call("create_steering_document", title="Money", epic_ids=["EP-001"])
    await world.call("suppress_lint", id="EP-001", rule="vague-word", reason="agreed")
    comment = await world.call("add_comment", target_id="EP-001", text="Why?")
    await world.call("resolve_comment", id=comment.id)
    await world.call("delete_comment", id=comment.id)
    assert await related(world, "EP-001") == [
        ("comment", "deleted", "EP-001"),
        ("comment", "updated", "EP-001"),
        ("lint_suppression", "created", "EP-001 vague-word"),
        ("steering_link", "created", "STD-001"),
        ("item_label", "deleted", "EP-001 urgent"),
        ("item_label", "created", "EP-001 urgent"),
        ("", "created", ""),
    ]
    assert ("steering_link", "created", "STD-001") in await related(world, "STD-001")


async def test_pages_of_a_related_history_go_on_and_belong_to_it(world: World) -> None:
    await prepared(world)
    for type in ("depends_on", "verifies", "satisfies"):
        await world.call("create_relationship", source_id="EP-001", target_id="EP-002", type=type)
    first = await world.call("history", id="EP-001", related=True, limit=3)
    rest = await world.call("history", id="EP-001", related=True, limit=3, cursor=first.next_cursor)
    assert [each.kind or "" for each in rest.items] == [""]
    assert (first.total, rest.has_more) == (4, False)
    with pytest.raises(InvalidError):
        await world.call("history", id="EP-001", cursor=first.next_cursor)


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_changes_of_earlier_versions_get_their_items(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'hub.db'}"
    if engine == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        url = cluster.database()
    hub, before = files("accord.hub") / "migrations", tmp_path / "before"
    before.mkdir()
    for file in hub.iterdir():
        if file.name.endswith(".sql") and file.name < "0008":
            (before / file.name).write_text(file.read_text())
    async with open_store(url, durable=False) as store:
        await store.migrate("operations", files("accord.operations") / "migrations")
        await store.migrate("hub", before)
        await store.execute(
            "INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, "
            "token_id) VALUES ('c', 1, '', '', 'ada', 'old', 'web', '', '')"
        )
        ends = '{"source_id": "one", "target_id": "two", "type": "blocks"}'
        old = (
            ("link", "relationship", "created", None, ends),
            ("link", "relationship", "updated", '{"type": "blocks"}', '{"type": "verifies"}'),
            ("link", "relationship", "deleted", ends, None),
            ("talk", "comment", "created", None, '{"target_id": "one", "text": "é"}'),
            ("talk", "comment", "updated", '{"text": "a"}', '{"text": "b"}'),
            ("one:red", "item_label", "created", None, "{}"),
            ("one:vague-word", "lint_suppression", "deleted", "{}", None),
            ("std:two", "steering_link", "created", None, "{}"),
            ("one", "epic", "created", None, '{"title": "x"}'),
        )
        for place, (id, kind, action, was, now) in enumerate(old):
            await store.execute(
                "INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, "
                "action, before, after) VALUES ('c', $1, $2, $3, '', 1, $4, $5, $6)",
                *(place, id, kind, action, was, now),
            )
        await store.migrate("hub", hub)
        rows = await store.fetch("SELECT item_id, other_item_id FROM revisions ORDER BY place")
        assert [(row["item_id"], row["other_item_id"]) for row in rows] == [
            *[("one", "two")] * 3,
            *[("one", None)] * 2,
            ("one", None),
            ("one", None),
            ("std", "two"),
            (None, None),
        ]
        counted = await store.fetch(revisions.COUNT.format(which=revisions.WITH_RELATED), "two")
        assert counted[0]["total"] == 4
