"""What is undone fits what was done to other things since."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.errors import ServiceError
from tests.hub.world import World


async def stories(world: World) -> tuple[str, str, str]:
    """Two user stories, and acceptance criteria of the first."""
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
