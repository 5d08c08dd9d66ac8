"""Parts of texts are replaced and added to."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.errors import ForbiddenError, InvalidError, StaleError
from tests.hub.world import World


async def test_a_part_that_occurs_once_is_replaced_and_the_diff_comes_back(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="one\ntwo\nthree")
    changed = await world.call("edit_text", id="EP-001", old="two", new="2")
    assert (changed.reference_id, changed.version, changed.field) == ("EP-001", 2, "description")
    assert changed.diff == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert (await world.call("get_epic", id="EP-001")).description == "one\n2\nthree"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"old": "four", "new": "4"}, "old: occurs not at all"),
        ({"old": "o", "new": "0"}, "old: occurs 2 times: give more of what is around it"),
        ({"old": "aa", "new": "b", "field": "title"}, "old: occurs 2 times"),
        ({"old": "aaa", "new": "", "field": "title"}, "title: would be empty"),
        ({"old": "one", "new": "x", "field": "content"}, "field: EP-001 has only title, descr"),
        ({"old": "one", "new": "\x07"}, "description: has the character U\\+0007"),
        ({"old": "one", "new": "x" * 50_000}, "description: would have 50,010 characters, over"),
    ],
)
async def test_an_edit_that_cannot_be_done_says_why(
    world: World, arguments: dict[str, Any], message: str
) -> None:
    await world.call("create_epic", title="aaa", description="one\ntwo\nthree")
    with pytest.raises(InvalidError, match=message):
        await world.call("edit_text", id="EP-001", **arguments)
    assert (await world.call("get_epic", id="EP-001")).version == 1


async def test_text_is_added_on_a_new_line(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    for text in ("one", "two\n", "three"):
        await world.call("append_text", id="EP-001", text=text)
    assert (await world.call("get_epic", id="EP-001")).description == "one\ntwo\nthree"
    await world.call("append_text", id="EP-001", field="title", text="now")
    assert (await world.call("get_epic", id="EP-001")).title == "Checkout now"


async def test_a_stale_edit_is_refused(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="one")
    await world.call("append_text", id="EP-001", text="two")
    with pytest.raises(StaleError):
        await world.call("edit_text", id="EP-001", old="one", new="1", expected_version=1)


async def test_commenters_edit_nothing(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="one")
    with pytest.raises(ForbiddenError):
        await world.call("edit_text", world.commenter, id="EP-001", old="one", new="1")
