"""Comments: replies, quotes and resolution."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins

from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StaleError,
)
from tests.hub.world import World

TEXT = "The shop shall pay.\nThe shop shall ship."


async def test_a_commenter_comments_on_a_quote_and_leaves_the_version_alone(world: World) -> None:
    epic = await world.call("create_epic", title="Checkout", description=TEXT)
    made = await world.call(
        "add_comment", world.commenter, target_id="ep-1", text="To whom?", quote="shall ship"
    )
    assert to_builtins(await world.call("get_comment", id=made.id)) == {
        "id": made.id,
        "target_id": epic.id,
        "target_reference_id": "EP-001",
        "reply_to": None,
        "author": "carl",
        "text": "To whom?",
        "quote": "shall ship",
        "quote_position": 29,
        "resolved": False,
        "resolved_by": None,
        "version": 1,
        "created_at": made.created_at,
        "updated_at": made.created_at,
    }
    assert (await world.call("get_epic", id="EP-001")).version == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"quote": "shall sink"},
        {"quote": "shall", "quote_position": 10},
        {"quote_position": 3},
        {"text": "bell \x07"},
        {"text": ""},
    ],
)
async def test_a_comment_that_fits_nothing_is_refused(
    world: World, arguments: dict[str, Any]
) -> None:
    await world.call("create_epic", title="Checkout", description=TEXT)
    with pytest.raises(InvalidError):
        await world.call("add_comment", None, **({"target_id": "EP-001", "text": "?"} | arguments))


async def test_an_answer_stands_on_the_same_item(world: World) -> None:
    for title in ("Checkout", "Shipping"):
        await world.call("create_epic", title=title)
    first = await world.call("add_comment", target_id="EP-001", text="Why?")
    await world.call("add_comment", target_id="EP-001", text="So.", reply_to=first.id)
    with pytest.raises(InvalidError, match="reply_to: is a comment on EP-001"):
        await world.call("add_comment", target_id="EP-002", text="So.", reply_to=first.id)
    with pytest.raises(NotFoundError):
        await world.call("add_comment", target_id="EP-002", text="So.", reply_to="EP-001")


async def test_only_authors_change_their_comments(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("add_comment", world.commenter, target_id="EP-001", text="Why?")
    for caller in (world.user, world.admin):
        with pytest.raises(ForbiddenError):
            await world.call("update_comment", caller, id=made.id, text="Because.")
    changed = await world.call("update_comment", world.commenter, id=made.id, text="Who?")
    assert (changed.text, changed.version) == ("Who?", 2)
    with pytest.raises(StaleError):
        await world.call(
            "update_comment", world.commenter, id=made.id, text="When?", expected_version=1
        )


async def test_a_comment_is_deleted_by_its_author_and_with_answers_by_force(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    first = await world.call("add_comment", world.commenter, target_id="EP-001", text="Why?")
    answer = await world.call("add_comment", target_id="EP-001", text="So.", reply_to=first.id)
    with pytest.raises(ForbiddenError):
        await world.call("delete_comment", id=first.id)
    with pytest.raises(ConflictError, match="the comment has 1 answers"):
        await world.call("delete_comment", world.commenter, id=first.id)
    with pytest.raises(ForbiddenError):
        await world.call("delete_comment", world.commenter, id=first.id, force=True)
    gone = await world.call("delete_comment", world.admin, id=first.id, force=True)
    assert gone.also_deleted == [answer.id]
    assert (await world.call("list_comments")).total == 0


async def test_comments_are_resolved_and_opened_again_by_everybody(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("add_comment", target_id="EP-001", text="Why?")
    done = await world.call("resolve_comment", world.commenter, id=made.id)
    assert (done.resolved, done.resolved_by, done.version) == (True, "carl", 1)
    again = await world.outcome("resolve_comment", id=made.id)
    assert again.effects == ()
    opened = await world.call("resolve_comment", id=made.id, resolved=False)
    assert (opened.resolved, opened.resolved_by) == (False, None)


async def test_comments_are_listed_oldest_first(world: World) -> None:
    for title in ("Checkout", "Shipping"):
        await world.call("create_epic", title=title)
    made = [
        await world.call("add_comment", target_id=target, text=text)
        for target, text in (("EP-001", "a"), ("EP-002", "b"), ("EP-001", "c"))
    ]
    await world.call("resolve_comment", id=made[0].id)
    page = await world.call("list_comments", target_id="EP-001", limit=1)
    assert ([each.text for each in page.items], page.total) == (["a"], 2)
    rest = await world.call("list_comments", target_id="EP-001", limit=1, cursor=page.next_cursor)
    assert ([each.text for each in rest.items], rest.has_more) == (["c"], False)
    opened = await world.call("list_comments", resolved=False)
    assert [each.text for each in opened.items] == ["b", "c"]
