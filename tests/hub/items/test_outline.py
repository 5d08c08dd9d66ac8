"""The tree in pieces: children page by page, and the tree as somebody has it open."""

from __future__ import annotations

from typing import Any

import pytest

from accord.hub.operations.hierarchy import Branch, OpenBranch, Outline
from accord.operations.errors import InvalidError, NotFoundError
from tests.hub.world import World


async def plant(world: World) -> None:
    """Two epics; EP-001 has two stories, US-001 three requirements and criteria."""
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
    """What is shown, a line each; what stands apart has dots before it."""
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
    """However much is open, it is not all shown."""
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
    monkeypatch.setattr("accord.hub.storage.outline.FEW", few)
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
