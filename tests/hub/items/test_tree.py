"""The tree of items, their places in it, and context packs."""

from __future__ import annotations

import pytest
from msgspec import to_builtins

from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from tests.hub.items.state import state
from tests.hub.world import World


async def tree(world: World) -> None:
    """Two epics; EP-001 has two stories, US-001 criteria and a requirement."""
    await world.call("create_epic", title="Checkout")
    await world.call("create_epic", title="Shipping")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by card")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by invoice")
    await world.call(
        "create_acceptance_criteria", user_story_id="US-001", description="It works.\nReally."
    )
    await world.call(
        "create_requirement",
        user_story_id="US-001",
        title="Cards are checked",
        acceptance_criteria_id="AC-001",
    )


@pytest.mark.req("H-06")
async def test_the_tree_is_text_beside_nodes(world: World) -> None:
    await tree(world)
    found = await world.call("get_hierarchy")
    assert found.text == (
        "EP-001 Checkout [Backlog]\n"
        "  US-001 Pay by card [Backlog]\n"
        "    AC-001 It works. Really.\n"
        "    REQ-001 Cards are checked [Draft]\n"
        "  US-002 Pay by invoice [Backlog]\n"
        "EP-002 Shipping [Backlog]"
    )
    assert (found.shown, found.left_out) == (6, 0)
    story = found.items[0].children[0]
    assert [each["reference_id"] for each in to_builtins(story)["children"]] == [
        "AC-001",
        "REQ-001",
    ]


async def test_the_tree_says_what_it_leaves_out(world: World) -> None:
    await tree(world)
    shallow = await world.call("get_hierarchy", id="ep-1", depth=1)
    assert shallow.text == (
        "EP-001 Checkout [Backlog]\n"
        "  US-001 Pay by card [Backlog] (+2)\n"
        "  US-002 Pay by invoice [Backlog]\n"
        "… 2 more at the edges: ask for the tree of one of their parents"
    )
    narrow = await world.call("get_hierarchy", limit=3)
    assert (narrow.shown, narrow.left_out) == (3, 1 + 2)
    one = await world.call("get_hierarchy", limit=1)
    assert (one.shown, one.left_out) == (1, 1 + 2)


async def test_a_tree_may_begin_anywhere(world: World) -> None:
    await tree(world)
    assert (
        await world.call("get_hierarchy", id="REQ-001")
    ).text == "REQ-001 Cards are checked [Draft]"
    with pytest.raises(NotFoundError):
        await world.call("get_hierarchy", id="EP-009")


async def titles(world: World, epic: str) -> list[str]:
    found = await world.call("list_user_stories", epic_id=epic)
    return [each.title for each in found.items]


async def test_items_are_moved_among_their_siblings_without_a_new_version(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    for title in "abcd":
        await world.call("create_user_story", epic_id="EP-001", title=title)
    moved = await world.call("move_item", id="US-004", before="US-002")
    assert await titles(world, "EP-001") == ["a", "d", "b", "c"]
    assert (moved.place, moved.siblings, moved.version) == (2, 4, 1)
    await world.call("move_item", id="US-001", after="US-003")
    assert await titles(world, "EP-001") == ["d", "b", "c", "a"]
    again = await world.outcome("move_item", id="US-001", after="US-003")
    assert again.effects == ()


async def test_the_room_between_two_siblings_never_ends(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    for title in "abc":
        await world.call("create_user_story", epic_id="EP-001", title=title)
    for _ in range(60):
        await world.call("move_item", id="US-003", before="US-002")
        await world.call("move_item", id="US-002", before="US-003")
    assert await titles(world, "EP-001") == ["a", "b", "c"]


async def test_an_item_moves_to_another_parent_as_a_new_version(world: World) -> None:
    await tree(world)
    moved = await world.call("move_item", id="US-001", parent_id="EP-002")
    assert (moved.parent_reference_id, moved.place, moved.version) == ("EP-002", 1, 2)
    with pytest.raises(InvalidError, match="acceptance_criteria_id: AC-001"):
        await world.call("move_item", id="REQ-001", parent_id="US-002")
    with pytest.raises(ConflictError, match="belong to AC-001: REQ-001"):
        await world.call("move_item", id="AC-001", parent_id="US-002")


async def test_a_move_can_be_undone(world: World) -> None:
    await tree(world)
    before = await state(world)
    change = await world.outcome("move_item", id="US-002", before="US-001")
    await world.call("undo", change_id=change.change_id)
    assert await state(world) == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"id": "US-001"},
        {"id": "US-001", "before": "US-002", "after": "US-002"},
        {"id": "US-001", "before": "US-002", "parent_id": "EP-002"},
        {"id": "EP-001", "parent_id": "EP-002"},
    ],
)
async def test_a_move_to_nowhere_is_refused(world: World, arguments: dict[str, str]) -> None:
    await tree(world)
    with pytest.raises(InvalidError):
        await world.outcome("move_item", None, **arguments)


async def test_a_context_pack_has_what_is_around_an_item(world: World) -> None:
    await tree(world)
    await world.call(
        "update_requirement", id="REQ-001", description="The shop shall check.\n# Not a heading"
    )
    await world.call("create_requirement", user_story_id="US-001", title="Cards are kept")
    await world.call(
        "create_relationship", source_id="REQ-002", target_id="REQ-001", type="depends_on"
    )
    await world.call("add_comment", world.commenter, target_id="REQ-001", text="Why?\nHow?")
    await world.call(
        "create_steering_document", title="Law", description="PCI.", epic_ids=["EP-001"]
    )
    found = await world.call("get_context", id="REQ-001")
    assert found.text == (
        "# REQ-001 Requirement: Cards are checked [Draft]\n"
        "> The shop shall check.\n"
        "> # Not a heading\n"
        "\n## Under\n"
        "- US-001 User story: Pay by card [Backlog]\n"
        "- EP-001 Epic: Checkout [Backlog]\n"
        "\n## Links\n"
        "- is_depended_on_by REQ-002 Requirement: Cards are kept [Draft]\n"
        "\n## Acceptance criteria\n"
        "- AC-001 Acceptance criteria: It works. Really.\n"
        "\n## Open comments\n"
        "- carl:\n> Why?\n> How?\n"
        "\n## Steering documents\n"
        "- STD-001 Steering document: Law\n> PCI.\n"
        "\n## Siblings\n"
        "- REQ-002 Requirement: Cards are kept [Draft]"
    )
    assert (found.left_out, found.version) == ([], 2)


async def test_a_context_pack_keeps_to_its_budget_and_says_what_is_missing(world: World) -> None:
    await tree(world)
    await world.call("update_requirement", id="REQ-001", description="wörter " * 2000)
    for number in range(30):
        await world.call("add_comment", target_id="REQ-001", text=f"comment {number} " * 10)
    for budget in (100, 500, 1500, 6000):
        found = await world.call("get_context", id="REQ-001", token_budget=budget)
        assert found.estimated_tokens <= budget
        assert len(found.text.encode()) <= budget * 4
    small = await world.call("get_context", id="REQ-001", token_budget=100)
    assert small.left_out[0].endswith("of 14,000 characters of its text")
    assert small.left_out[-1] == "30 of 30: Open comments"
