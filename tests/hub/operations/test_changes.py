"""History, undo, several writes at once, and the activity feed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from accord.hub.storage import revisions
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from accord.store import open_store
from tests.hub.operations.state import state
from tests.hub.world import World
from tests.store.cluster import Cluster


async def tree(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by card")
    await world.call("create_requirement", user_story_id="US-001", title="Cards are checked")


async def test_history_tells_who_did_what_with_which_program(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="Pay.")
    robot = replace(world.other, client="claude", face="mcp")
    await world.call("update_epic", robot, id="EP-001", title="Check-out", assignee="otto")
    found = await world.call("history", world.commenter, id="ep-1")
    newest = found.items[0].change
    assert found.total == 2
    assert [to_builtins(each.differences) for each in found.items] == [
        [
            {"field": "title", "before": "Checkout", "after": "Check-out"},
            {"field": "assignee", "before": "uma", "after": "otto"},
        ],
        [
            {"field": "title", "after": "Checkout"},
            {"field": "description", "after": "Pay."},
            {"field": "status", "after": "Backlog"},
            {"field": "priority", "after": 3},
            {"field": "creator", "before": None, "after": "uma"},
            {"field": "assignee", "before": None, "after": "uma"},
        ],
    ]
    assert to_builtins(newest) == {
        "id": newest.id,
        "time": newest.time,
        "actor": "otto",
        "operation": "update_epic",
        "face": "mcp",
        "client": "claude",
    }


async def test_history_comes_in_pages(world: World) -> None:
    await world.call("create_epic", title="0")
    for number in range(1, 7):
        await world.call("update_epic", id="EP-001", title=str(number))
    versions, cursor = [], None
    while True:
        page = await world.call("history", id="EP-001", limit=3, cursor=cursor)
        assert page.total == 7
        versions += [each.version for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert versions == [7, 6, 5, 4, 3, 2, 1]


async def test_what_was_deleted_has_a_history_by_its_reference_id(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("delete_epic", id="EP-001")
    found = await world.call("history", id="ep-1")
    assert [each.action for each in found.items] == ["deleted", "created"]
    with pytest.raises(NotFoundError):
        await world.call("history", id="EP-002")


async def test_long_texts_differ_by_a_diff(world: World) -> None:
    lines = [f"line {number} of a long text" for number in range(20)]
    await world.call("create_epic", title="Checkout", description="\n".join(lines))
    lines[10] = "another line"
    await world.call("update_epic", id="EP-001", description="\n".join(lines))
    found = await world.call("history", id="EP-001", limit=1)
    (difference,) = to_builtins(found.items[0].differences)
    assert list(difference) == ["field", "diff"]
    assert "-line 10 of a long text\n+another line" in difference["diff"]


async def test_undo_takes_back_what_a_change_did(world: World) -> None:
    await tree(world)
    before = await state(world)
    change = await world.outcome("update_epic", id="EP-001", title="Other", status="Draft")
    undone = await world.call("undo", change_id=change.change_id)
    assert await state(world) == before
    assert [(each.action, each.reference_id, each.version) for each in undone.touched] == [
        ("updated", "EP-001", 3)
    ]


async def test_undo_brings_back_what_was_deleted_with_everything_below(world: World) -> None:
    await tree(world)
    await world.call("add_comment", target_id="US-001", text="Why?")
    await world.call("create_label", name="later")
    await world.call("label_item", id="REQ-001", label="later")
    await world.call("create_requirement", user_story_id="US-001", title="Cards are kept")
    await world.call(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="depends_on"
    )
    before = await state(world)
    change = await world.outcome("delete_epic", world.admin, id="EP-001", force=True)
    await world.call("undo", world.admin, change_id=change.change_id)
    assert await state(world) == before
    assert (await world.call("get_requirement", id="REQ-001")).version == 1


async def test_an_undo_can_be_undone(world: World) -> None:
    change = await world.outcome("create_epic", title="Checkout")
    made = await state(world)
    first = await world.outcome("undo", change_id=change.change_id)
    assert await world.store.fetch("SELECT id FROM items") == []
    second = await world.outcome("undo", change_id=first.change_id)
    assert await state(world) == made
    with pytest.raises(ConflictError, match="undone already"):
        await world.call("undo", change_id=change.change_id)
    await world.call("undo", change_id=second.change_id)
    assert await world.store.fetch("SELECT id FROM items") == []


async def test_undo_is_refused_where_somebody_did_something_since(world: World) -> None:
    first = await world.outcome("create_epic", title="Checkout")
    second = await world.outcome("update_epic", world.other, id="EP-001", title="Other")
    with pytest.raises(ConflictError) as refused:
        await world.call("undo", change_id=first.change_id)
    assert refused.value.message == "it was changed since: update_epic on EP-001 by otto"
    assert refused.value.data == {"newer_changes": [second.change_id], "total": 1}
    await world.call("undo", world.other, change_id=second.change_id)
    await world.call("undo", change_id=first.change_id)
    assert await world.store.fetch("SELECT id FROM items") == []


async def test_undo_of_a_creation_is_refused_where_something_was_added(world: World) -> None:
    change = await world.outcome("create_epic", title="Checkout")
    await world.call("add_comment", world.commenter, target_id="EP-001", text="Why?")
    with pytest.raises(ConflictError, match="EP-001 has 1 comments by now"):
        await world.call("undo", change_id=change.change_id)
    await world.call("create_user_story", epic_id="EP-001", title="Pay by card")
    with pytest.raises(ConflictError, match="EP-001 has children or links: US-001"):
        await world.call("undo", change_id=change.change_id)


async def test_undo_closes_no_circle(world: World) -> None:
    await tree(world)
    await world.call("create_requirement", user_story_id="US-001", title="Cards are kept")
    there = {"source_id": "REQ-001", "target_id": "REQ-002", "type": "depends_on"}
    await world.call("create_relationship", None, **there)
    change = await world.outcome("delete_relationship", None, **there)
    await world.call(
        "create_relationship", source_id="REQ-002", target_id="REQ-001", type="depends_on"
    )
    with pytest.raises(ConflictError, match="circle"):
        await world.call("undo", change_id=change.change_id)


async def test_undo_brings_back_no_child_of_what_is_gone(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by card")
    change = await world.outcome("delete_user_story", id="US-001")
    await world.call("delete_epic", id="EP-001")
    with pytest.raises(ConflictError, match="stands in the way"):
        await world.call("undo", change_id=change.change_id)


@pytest.mark.parametrize(
    ("who", "is_allowed"), [("user", True), ("other", False), ("commenter", False), ("admin", True)]
)
async def test_users_undo_their_own_changes_and_administrators_all(
    world: World, who: str, is_allowed: bool
) -> None:
    change = await world.outcome("create_epic", title="Checkout")
    call = world.call("undo", getattr(world, who), change_id=change.change_id)
    if is_allowed:
        assert (await call).undone == change.change_id
    else:
        with pytest.raises(ForbiddenError):
            await call


async def test_an_undone_activation_gives_the_former_prompt_back(world: World) -> None:
    for name in ("one", "two"):
        await world.call("create_prompt", world.admin, name=name, content=name)
    await world.call("activate_prompt", world.admin, id="one")
    change = await world.outcome("activate_prompt", world.admin, id="two")
    await world.call("undo", world.admin, change_id=change.change_id)
    assert (await world.call("get_active_prompt")).name == "one"


async def test_a_link_that_was_confirmed_for_what_is_undone_is_suspect(world: World) -> None:
    await tree(world)
    await world.call("create_requirement", user_story_id="US-001", title="Cards are kept")
    first = await world.call(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="depends_on"
    )
    change = await world.outcome("update_requirement", id="REQ-001", title="Cards are burned")
    assert (await world.call("get_relationship", id=first.id)).suspect
    await world.call("undo", change_id=change.change_id)
    assert not (await world.call("get_relationship", id=first.id)).suspect
    again = await world.outcome("update_requirement", id="REQ-001", title="Cards are burned")
    await world.call("confirm_relationship", id=first.id, reason="still so")
    assert not (await world.call("get_relationship", id=first.id)).suspect
    await world.call("undo", change_id=again.change_id)
    assert (await world.call("get_relationship", id=first.id)).suspect


def step(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"operation": operation, "arguments": arguments}


async def test_several_writes_are_one_change(world: World) -> None:
    outcome = await world.outcome(
        "apply_changes",
        steps=[
            step("create_epic", title="Checkout"),
            step("create_user_story", epic_id="$1.id", title="Pay by card"),
            step("create_requirement", user_story_id="$2.reference_id", title="$$1.id"),
        ],
    )
    assert [each.result["reference_id"] for each in outcome.result.results] == [
        *("EP-001", "US-001", "REQ-001"),
    ]
    assert (await world.call("get_requirement", id="REQ-001")).title == "$1.id"
    change = await world.call("get_change", change_id=outcome.change_id)
    assert [each.reference_id for each in change.touched] == ["EP-001", "US-001", "REQ-001"]
    await world.call("undo", change_id=outcome.change_id)
    assert await world.store.fetch("SELECT id FROM items") == []


async def test_one_step_that_is_refused_takes_all_back(world: World) -> None:
    await world.call("create_epic", world.other, title="Checkout")
    with pytest.raises(ForbiddenError) as refused:
        await world.call(
            "apply_changes",
            steps=[step("create_epic", title="Mine"), step("delete_epic", id="EP-001")],
        )
    assert refused.value.message == "step 2, delete_epic: EP-001 belongs to somebody else"
    assert refused.value.data == {"step": 2}
    assert len(await world.store.fetch("SELECT id FROM items")) == 1


@pytest.mark.parametrize(
    ("bad", "pointer"),
    [
        (step("create_epic", title=7), "/steps/1/arguments/title"),
        (step("create_epic", title="x", colour="red"), "/steps/1/arguments/colour"),
        (step("create_epik", title="x"), "/steps/1/operation"),
        (step("apply_changes", steps=[]), "/steps/1/operation"),
        (step("get_epic", id="EP-001"), "/steps/1/operation"),
        (step("create_epic", title="$2.id"), "/steps/1/arguments"),
        (step("create_epic", title="$1.colour"), "/steps/1/arguments"),
        (step("create_epic", title="x", dry_run=True), "/steps/1/arguments/dry_run"),
    ],
)
async def test_a_step_that_is_wrong_is_named(
    world: World, bad: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        await world.call("apply_changes", steps=[step("create_epic", title="Checkout"), bad])
    assert refused.value.errors[0].pointer == pointer


async def test_steps_need_the_rights_of_their_operations(world: World) -> None:
    with pytest.raises(ForbiddenError, match="step 1, create_prompt: create_prompt needs the role"):
        await world.call("apply_changes", steps=[step("create_prompt", name="x", content="x")])


async def test_a_dry_run_of_several_writes_leaves_nothing(world: World) -> None:
    preview = await world.call(
        "apply_changes", steps=[step("create_epic", title="Checkout")], dry_run=True
    )
    assert [each.reference_id for each in preview.changes] == ["EP-001"]
    assert await world.store.fetch("SELECT id FROM items") == []
    assert await world.store.fetch("SELECT id FROM changes") == []


async def test_changes_are_listed_newest_first(world: World) -> None:
    await tree(world)
    await world.call("create_epic", world.admin, title="Other")
    found = await world.call("list_changes", limit=2)
    assert [each.operation for each in found.items] == ["create_epic", "create_requirement"]
    assert (found.total, found.has_more) == (4, True)
    rest = await world.call("list_changes", limit=2, cursor=found.next_cursor)
    assert [each.operation for each in rest.items] == ["create_user_story", "create_epic"]
    assert (await world.call("list_changes", actor="ada")).total == 1


async def test_a_list_of_changes_names_the_first_things_that_each_touched(world: World) -> None:
    steps = [step("create_epic", title=f"Epic {number}") for number in range(5)]
    await world.call("apply_changes", steps=steps)
    await world.call("create_label", name="urgent")
    found = await world.call("list_changes")
    assert [(each.about, each.total) for each in found.items] == [
        (["urgent"], 1),
        (["EP-001", "EP-002", "EP-003"], 5),
    ]


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


async def test_news_tell_what_each_change_did_to_the_first_things_it_touched(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("update_epic", id="EP-001", status="In Progress")
    await world.call("add_comment", target_id="EP-001", text="To whom?")
    steps = [
        {"operation": "create_epic", "arguments": {"title": f"Epic {number}"}}
        for number in range(5)
    ]
    await world.call("apply_changes", steps=steps)
    await world.call("delete_epic", world.admin, id="EP-006")
    found = await world.call("list_news", world.other)
    assert found.total == 5
    told = [
        [(each.action, each.kind, each.reference_id, each.heading) for each in news.touched]
        for news in found.items
    ]
    assert told == [
        [("deleted", "epic", "EP-006", "Epic 4")],
        [("created", "epic", f"EP-00{number}", f"Epic {number - 2}") for number in (2, 3, 4)],
        [("created", "comment", "EP-001", "To whom?")],
        [("updated", "epic", "EP-001", "Checkout")],
        [("created", "epic", "EP-001", "Checkout")],
    ]
    assert [news.total for news in found.items] == [1, 5, 1, 1, 1]
    [status] = found.items[3].touched[0].differences
    assert to_builtins(status) == {"field": "status", "before": "Backlog", "after": "In Progress"}


async def test_news_are_paged_and_leave_out_what_people_save_for_themselves(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("create_view", name="Mine", filter={"assignee": "uma"})
    await world.call("create_epic", title="Refunds")
    first = await world.call("list_news", limit=1)
    assert [each.touched[0].heading for each in first.items] == ["Refunds"]
    rest = await world.call("list_news", limit=1, cursor=first.next_cursor)
    assert [each.touched[0].heading for each in rest.items] == ["Checkout"]
    assert (first.total, rest.has_more) == (2, False)


async def test_open_comments_of_others_wait_for_whom_the_item_is_assigned_to(world: World) -> None:
    await world.call("create_epic", title="Checkout", assignee="uma")
    await world.call("create_epic", title="Refunds", assignee="otto")
    waiting = [
        await world.call("add_comment", world.commenter, target_id="EP-001", text=text)
        for text in ("First", "Second", "Third")
    ]
    await world.call("add_comment", target_id="EP-001", text="My own")
    await world.call("add_comment", world.commenter, target_id="EP-002", text="For another")
    await world.call("resolve_comment", world.commenter, id=waiting[1].id)
    first = await world.call("list_comments_for_me", limit=1)
    rest = await world.call("list_comments_for_me", limit=1, cursor=first.next_cursor)
    assert [each.text for each in (*first.items, *rest.items)] == ["First", "Third"]
    assert (first.total, rest.has_more) == (2, False)
