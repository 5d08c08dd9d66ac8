"""The tree of items, moves in it, and the outline."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins

from accord.hub.operations.hierarchy import Branch, OpenBranch, Outline
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from tests.hub.operations.state import state
from tests.hub.world import World


async def tree(world: World) -> None:
    """Create two epics: EP-001 has two stories, US-001 criteria and a requirement."""
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


async def plant(world: World) -> None:
    """Create two epics: EP-001 has two stories, US-001 three requirements and criteria."""
    await world.call("create_epic", title="Checkout")
    await world.call("create_epic", title="Shipping", status="In Progress")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by card")
    await world.call("create_user_story", epic_id="EP-001", title="Pay by invoice")
    await world.call(
        "create_acceptance_criteria", user_story_id="US-001", description="It works.\nReally."
    )
    for title in ("Cards are checked", "Cards are charged", "Receipts are sent"):
        await world.call("create_requirement", user_story_id="US-001", title=title)


def names(branches: list[Branch] | list[OpenBranch]) -> list[str]:
    return [each.reference_id for each in branches]


def drawn(branches: list[OpenBranch], deep: int = 0) -> list[str]:
    """Return one line per item of an outline; dots precede an item that is shown apart."""
    lines: list[str] = []
    for each in branches:
        lines.append(f"{'  ' * deep}{'… ' if each.apart else ''}{each.reference_id}")
        lines += drawn(each.children or [], deep + 1)
    return lines


async def test_children_are_rows_of_a_tree(world: World) -> None:
    await plant(world)
    epics = await world.call("list_children")
    assert [(each.reference_id, each.has_children) for each in epics.items] == [
        ("EP-001", True),
        ("EP-002", False),
    ]
    page = await world.call("list_children", id="us-1")
    assert names(page.items) == ["REQ-001", "REQ-002", "REQ-003", "AC-001"]
    criteria = page.items[-1]
    assert criteria == Branch(
        id=criteria.id,
        reference_id="AC-001",
        kind="acceptance_criteria",
        title="It works. Really.",
        status="",
        assignee=None,
        suspect=False,
        has_children=False,
    )
    assert (page.total, page.has_more) == (4, False)
    with pytest.raises(InvalidError, match="nothing that others stand under"):
        await world.call("list_children", id="REQ-001")


async def test_children_come_page_by_page_across_kinds(world: World) -> None:
    await plant(world)
    found: list[str] = []
    cursor = None
    while True:
        page = await world.call("list_children", id="US-001", limit=2, cursor=cursor)
        assert page.total == 4
        found += names(page.items)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == ["REQ-001", "REQ-002", "REQ-003", "AC-001"]
    first = await world.call("list_children", id="US-001", limit=3)
    assert names(first.items) == ["REQ-001", "REQ-002", "REQ-003"]
    rest = await world.call("list_children", id="US-001", limit=3, cursor=first.next_cursor)
    assert names(rest.items) == ["AC-001"]
    with pytest.raises(InvalidError, match="another list"):
        await world.call("list_children", id="EP-001", cursor=first.next_cursor)


async def test_children_have_the_order_of_their_places(world: World) -> None:
    await plant(world)
    await world.call("move_item", id="REQ-003", before="REQ-001")
    page = await world.call("list_children", id="US-001", limit=1)
    assert names(page.items) == ["REQ-003"]
    rest = await world.call("list_children", id="US-001", cursor=page.next_cursor)
    assert names(rest.items) == ["REQ-001", "REQ-002", "AC-001"]


async def test_a_filter_keeps_the_way_to_what_matches(world: World) -> None:
    await plant(world)
    await world.call("update_requirement", id="REQ-002", status="Active", assignee="otto")
    epics = await world.call("list_children", status="Active")
    assert (names(epics.items), epics.total) == (["EP-001"], 1)
    outline = await world.call(
        "get_outline", open=["EP-001", "US-001"], status="Active", assignee="otto"
    )
    assert drawn(outline.items) == ["EP-001", "  US-001", "    REQ-002"]
    unfolded = await world.call("get_outline", unfold=True, status="Active")
    assert drawn(unfolded.items) == ["EP-001", "  US-001", "    REQ-002"]
    nothing = await world.call("get_outline", unfold=True, status="Active", assignee="uma")
    assert nothing == Outline(items=[], next_cursor=None, total=0, path=[])


async def test_an_outline_is_open_as_asked_and_down_to_what_is_selected(world: World) -> None:
    await plant(world)
    closed = await world.call("get_outline")
    assert drawn(closed.items) == ["EP-001", "EP-002"]
    opened = await world.call("get_outline", open=["ep-001", "EP-002", "REQ-001", "nonsense"])
    assert drawn(opened.items) == ["EP-001", "  US-001", "  US-002", "EP-002"]
    selected = await world.call("get_outline", selected="AC-001")
    assert drawn(selected.items) == [
        *("EP-001", "  US-001"),
        *("    REQ-001", "    REQ-002", "    REQ-003", "    AC-001", "  US-002", "EP-002"),
    ]
    assert names(selected.path) == ["EP-001", "US-001", "AC-001"]
    with pytest.raises(NotFoundError):
        await world.call("get_outline", selected="REQ-999")


async def test_what_is_selected_far_behind_stands_apart(world: World) -> None:
    await plant(world)
    outline = await world.call("get_outline", selected="REQ-003", limit=1)
    assert drawn(outline.items) == ["EP-001", "  US-001", "    REQ-001", "    … REQ-003"]
    story = outline.items[0].children[0]
    assert (story.total, story.next_cursor is not None) == (4, True)
    later = await world.call("list_children", id="US-001", cursor=story.next_cursor)
    assert names(later.items) == ["REQ-002", "REQ-003", "AC-001"]


async def test_a_document_has_no_place_in_the_tree(world: World) -> None:
    await plant(world)
    await world.call("create_steering_document", title="Safety")
    outline = await world.call("get_outline", selected="STD-001")
    assert (drawn(outline.items), outline.path) == (["EP-001", "EP-002"], [])


async def test_what_is_linked_to_something_that_changed_is_suspect(world: World) -> None:
    await plant(world)
    await world.call(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="depends_on"
    )
    await world.call("update_requirement", id="REQ-002", title="Cards are charged at once")
    page = await world.call("list_children", id="US-001")
    assert [each.reference_id for each in page.items if each.suspect] == ["REQ-001"]


async def test_an_outline_has_an_end(world: World) -> None:
    """An outline has a maximum size, however many items are open."""
    lines = [f"## EP: Epic {n}\n" + "### US: Story\n" * 30 for n in range(18)]
    await world.call("import_items", format="markdown", content="".join(lines))
    outline = await world.call("get_outline", open=[f"EP-{n:03d}" for n in range(1, 19)])
    shown = len(drawn(outline.items))
    assert 500 <= shown < 530
    assert sum(each.children is not None for each in outline.items) == 17


@pytest.mark.req("H-57")
@pytest.mark.parametrize("few", [8_000, 0])
async def test_a_tree_is_filtered_by_several_values_and_by_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr("accord.hub.storage.lists.MAX_FEW_MATCHES", few)
    await plant(world)
    await world.call("update_requirement", id="REQ-001", status="Active", assignee=None)
    await world.call("update_requirement", id="REQ-002", status="Obsolete", assignee="otto")

    async def tree(**filters: Any) -> list[str]:
        return drawn((await world.call("get_outline", unfold=True, **filters)).items)

    top = ["EP-001", "  US-001"]
    assert await tree(status=["obsolete", "Active"]) == [*top, "    REQ-001", "    REQ-002"]
    assert await tree(assignee="unassigned") == [*top, "    REQ-001"]
    assert await tree(assignee=["unassigned", "otto"]) == [*top, "    REQ-001", "    REQ-002"]
    assert await tree(assignee=["unassigned", "otto"], status=["Active", "Done"]) == [
        *(*top, "    REQ-001"),
    ]
    assert await tree(status=["In Progress", "Done"]) == ["EP-002"]
    page = await world.call("list_children", id="US-001", assignee=["Unassigned", "ada"])
    assert (names(page.items), page.total) == (["REQ-001"], 1)
    with pytest.raises(InvalidError, match="did you mean Active"):
        await world.call("list_children", status="Activ")
