"""Acceptance criteria and steering documents, and how they belong to others."""

from __future__ import annotations

import pytest
from msgspec import to_builtins

from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from tests.hub.world import World


async def stories(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    for number in range(2):
        await world.call("create_user_story", epic_id="EP-001", title=f"Story {number}")
    await world.call("create_acceptance_criteria", user_story_id="US-001", description="It works.")


async def test_criteria_have_an_author_and_a_story(world: World) -> None:
    await stories(world)
    found = to_builtins(await world.call("get_acceptance_criteria", id="ac-1"))
    story = await world.call("get_user_story", id="US-001")
    assert found == {
        "id": found["id"],
        "reference_id": "AC-001",
        "version": 1,
        "created_at": found["created_at"],
        "updated_at": found["created_at"],
        "user_story_id": story.id,
        "user_story_reference_id": "US-001",
        "summary": "It works.",
        "description": "It works.",
        "author": "uma",
        "labels": [],
    }


async def test_a_requirement_belongs_to_criteria_of_its_own_story(world: World) -> None:
    await stories(world)
    with pytest.raises(InvalidError) as refused:
        await world.call(
            "create_requirement", user_story_id="US-002", title="x", acceptance_criteria_id="AC-001"
        )
    assert refused.value.errors[0].pointer == "/acceptance_criteria_id"
    with pytest.raises(NotFoundError, match="US-001 is not acceptance criteria"):
        await world.call(
            "create_requirement", user_story_id="US-001", title="x", acceptance_criteria_id="US-001"
        )
    made = await world.call(
        "create_requirement", user_story_id="US-001", title="x", acceptance_criteria_id="AC-001"
    )
    assert made.acceptance_criteria_reference_id == "AC-001"
    loose = await world.call("update_requirement", id="REQ-001", acceptance_criteria_id=None)
    assert loose.acceptance_criteria_id is None


async def test_requirements_survive_their_criteria(world: World) -> None:
    await stories(world)
    await world.call(
        "create_requirement", user_story_id="US-001", title="x", acceptance_criteria_id="AC-001"
    )
    with pytest.raises(ConflictError, match="AC-001 has children or links: REQ-001"):
        await world.call("delete_acceptance_criteria", id="AC-001")
    await world.call("delete_acceptance_criteria", world.admin, id="AC-001", force=True)
    left = await world.call("get_requirement", id="REQ-001")
    assert (left.acceptance_criteria_id, left.version) == (None, 2)


async def test_a_steering_document_is_linked_to_epics(world: World) -> None:
    for title in ("Checkout", "Shipping"):
        await world.call("create_epic", title=title)
    made = await world.call("create_steering_document", title="Law", epic_ids=["ep-2", "EP-001"])
    assert made.epics == ["EP-001", "EP-002"]
    outcome = await world.outcome("update_steering_document", id="STD-001", epic_ids=["EP-002"])
    assert (outcome.result.epics, outcome.result.version) == (["EP-002"], 1)
    assert [(each.action, each.kind) for each in outcome.effects] == [("deleted", "steering_link")]
    found = await world.call("list_steering_documents", epic_id="EP-002")
    assert [each.reference_id for each in found.items] == ["STD-001"]
    with pytest.raises(ConflictError, match="EP-002 has children or links: STD-001 steers EP-002"):
        await world.call("delete_epic", id="EP-002")
    with pytest.raises(NotFoundError):
        await world.call("update_steering_document", id="STD-001", epic_ids=["EP-099"])
