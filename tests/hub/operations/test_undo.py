"""Undo obeys all rules, those of links included."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.errors import ConflictError, ServiceError
from tests.hub.operations.shop import Shop
from tests.hub.world import World


async def stories(world: World) -> tuple[str, str, str]:
    """Create two user stories, and acceptance criteria of the first."""
    epic = await world.call("create_epic", title="E")
    made = [
        (await world.call("create_user_story", epic_id=epic.id, title=title)).reference_id
        for title in ("S", "T")
    ]
    criteria = await world.call(
        "create_acceptance_criteria", user_story_id=made[0], description="ok"
    )
    return (*made, criteria.reference_id)


async def stories_of(world: World, criteria: str, requirement: str) -> tuple[Any, Any]:
    found = await world.call("get_acceptance_criteria", id=criteria)
    of_it = await world.call("get_requirement", id=requirement)
    return found.user_story_reference_id, of_it.user_story_reference_id


async def test_criteria_do_not_leave_the_story_of_requirements_that_came_since(
    world: World,
) -> None:
    _, second, criteria = await stories(world)
    moved = await world.outcome("update_acceptance_criteria", id=criteria, user_story_id=second)
    await world.call(
        "create_requirement", user_story_id=second, title="R", acceptance_criteria_id=criteria
    )
    with pytest.raises(ServiceError, match="REQ-001"):
        await world.call("undo", change_id=moved.change_id)
    assert await stories_of(world, criteria, "REQ-001") == (second, second)


async def test_a_requirement_does_not_come_back_to_criteria_that_left_its_story(
    world: World,
) -> None:
    first, second, criteria = await stories(world)
    made = await world.call(
        "create_requirement", user_story_id=first, title="R", acceptance_criteria_id=criteria
    )
    deleted = await world.outcome("delete_requirement", id=made.id)
    moved = await world.outcome("update_acceptance_criteria", id=criteria, user_story_id=second)
    with pytest.raises(ServiceError, match=criteria):
        await world.call("undo", change_id=deleted.change_id)
    await world.call("undo", change_id=moved.change_id)
    await world.call("undo", change_id=deleted.change_id)
    assert await stories_of(world, criteria, "REQ-001") == (first, first)


async def test_a_link_is_taken_back_and_comes_back(shop: Shop) -> None:
    made = await shop.outcome(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks"
    )
    undone = await shop.outcome("undo", change_id=made.change_id)
    assert (await shop.call("list_relationships")).total == 0
    await shop.call("undo", change_id=undone.change_id)
    assert [each.id for each in (await shop.call("list_relationships")).items] == [made.result.id]


async def test_a_text_that_is_taken_back_makes_its_links_sound_again(shop: Shop) -> None:
    link = await shop.link("REQ-001", "verifies", "REQ-002")
    edited = await shop.outcome("update_requirement", id="REQ-001", description="Else.")
    assert (await shop.call("get_relationship", id=link)).suspect
    await shop.call("undo", change_id=edited.change_id)
    assert not (await shop.call("get_relationship", id=link)).suspect


async def test_a_confirmation_that_is_taken_back_leaves_the_link_suspect(shop: Shop) -> None:
    link = await shop.link("REQ-001", "verifies", "REQ-002")
    await shop.edit("REQ-001", "Else.")
    confirmed = await shop.outcome("confirm_relationship", id=link, reason="Read.")
    await shop.call("undo", change_id=confirmed.change_id)
    found = await shop.call("get_relationship", id=link)
    assert (found.suspect, found.changed) == (True, ["REQ-001"])


async def test_labels_types_views_and_suppressions_are_taken_back(shop: Shop) -> None:
    await shop.call("create_label", name="Security")
    for name, arguments in (
        ("label_item", {"id": "REQ-001", "label": "Security"}),
        ("create_label", {"name": "Safety"}),
        ("create_view", {"name": "Mine", "filter": {}}),
        ("suppress_lint", {"id": "REQ-001", "rule": "passive", "reason": "Law."}),
    ):
        made = await shop.world.outcome(name, None, **arguments)
        await shop.call("undo", change_id=made.change_id)
    assert (await shop.call("get_requirement", id="REQ-001")).labels == []
    assert [each.name for each in (await shop.call("list_labels")).items] == ["Security"]
    assert (await shop.call("list_views")).total == 0
    assert (await shop.call("lint_requirement", id="REQ-001")).suppressed == []
    admin = shop.world.admin
    made = await shop.outcome("create_requirement_type", admin, name="Legal")
    await shop.call("undo", admin, change_id=made.change_id)
    assert (await shop.call("list_requirement_types")).total == 5


async def test_a_baseline_is_not_taken_back(shop: Shop) -> None:
    made = await shop.outcome("create_baseline", name="Release 1")
    with pytest.raises(ConflictError, match="baseline cannot be undone"):
        await shop.call("undo", change_id=made.change_id)


async def test_a_link_that_would_close_a_circle_by_now_does_not_come_back(shop: Shop) -> None:
    await shop.link("REQ-001", "blocks", "REQ-002")
    gone = await shop.outcome(
        "delete_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks"
    )
    await shop.link("REQ-002", "blocks", "REQ-001")
    with pytest.raises(ConflictError, match="circle"):
        await shop.call("undo", change_id=gone.change_id)
