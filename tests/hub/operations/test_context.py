"""The surroundings of an item, its versions, and the people it can be assigned to."""

from __future__ import annotations

import pytest

from accord.hub.entities import Difference
from accord.hub.operations.context import Ancestor, InBaseline, Surroundings
from accord.operations.errors import InvalidError, StaleError
from tests.hub.operations.shop import Shop

pytestmark = pytest.mark.req("H-21")


async def test_a_requirement_tells_where_it_stands(shop: Shop) -> None:
    await shop.link("AC-001", "verifies", "REQ-001")
    await shop.call("create_baseline", name="release-1")
    await shop.edit("REQ-001", "The checkout shall charge once.")
    first = await shop.call("add_comment", target_id="REQ-001", text="Really?")
    await shop.call("add_comment", target_id="REQ-001", text="Yes.", reply_to=first.id)
    await shop.call("resolve_comment", id=first.id)
    assert await shop.call("get_surroundings", id="req-1") == Surroundings(
        reference_id="REQ-001",
        path=[
            Ancestor(reference_id="EP-001", title="Checkout"),
            Ancestor(reference_id="US-001", title="Pay by card"),
        ],
        below={},
        steering_documents=[],
        verified=True,
        verified_by=1,
        baseline=InBaseline(name="release-1", version=1),
        comments=2,
        open_comments=0,
    )


async def test_an_epic_tells_what_is_below_it_and_what_guides_it(shop: Shop) -> None:
    await shop.call("update_steering_document", id="STD-001", epic_ids=["EP-001"])
    epic = await shop.call("get_surroundings", id="EP-001")
    story = await shop.call("get_surroundings", id="US-001")
    assert (epic.below, epic.steering_documents) == ({"user_story": 2}, ["STD-001"])
    assert story.below == {"acceptance_criteria": 1, "requirement": 3}


async def test_criteria_count_the_requirements_that_belong_to_them(shop: Shop) -> None:
    assert (await shop.call("get_surroundings", id="AC-001")).below == {}
    await shop.call("update_requirement", id="REQ-001", acceptance_criteria_id="AC-001")
    assert (await shop.call("get_surroundings", id="AC-001")).below == {"requirement": 1}


async def test_two_versions_are_compared(shop: Shop) -> None:
    await shop.call("update_requirement", id="REQ-001", title="Charge once")
    await shop.call("update_requirement", id="REQ-001", title="Charge twice", status="Active")
    of_title = await shop.call("compare_versions", id="REQ-001", a=1, b=2)
    assert of_title.differences == [Difference(field="title", before="Charge", after="Charge once")]
    to_now = await shop.call("compare_versions", id="REQ-001", a=1)
    assert (to_now.a, to_now.b) == (1, 3)
    assert to_now.differences == [
        Difference(field="title", before="Charge", after="Charge twice"),
        Difference(field="status", before="Draft", after="Active"),
    ]
    with pytest.raises(InvalidError, match="b: REQ-001 has only version 3 as yet"):
        await shop.call("compare_versions", id="REQ-001", a=1, b=9)


@pytest.mark.req("H-59")
async def test_an_earlier_version_is_restored(shop: Shop) -> None:
    before = await shop.call("get_requirement", id="REQ-001")
    await shop.call("update_requirement", id="REQ-001", title="Charge once", priority=1)
    await shop.call("update_requirement", id="REQ-001", status="Active")
    done = await shop.call("restore_version", id="REQ-001", version=1)
    assert (done.reference_id, done.restored, done.version) == ("REQ-001", 1, 4)
    now = await shop.call("get_requirement", id="REQ-001")
    assert (now.title, now.priority, now.status) == (before.title, before.priority, "Active")
    await shop.call("undo", change_id=done.change_id)
    assert (await shop.call("get_requirement", id="REQ-001")).title == "Charge once"
    assert (await shop.call("restore_version", id="REQ-001", version=5)).version == 5
    with pytest.raises(InvalidError, match="version: REQ-001 has only version 5 as yet"):
        await shop.call("restore_version", id="REQ-001", version=6)
    with pytest.raises(StaleError):
        await shop.call("restore_version", id="REQ-001", version=1, expected_version=2)


@pytest.mark.req("H-59")
async def test_what_is_done_over_open_things_gets_a_hint(shop: Shop) -> None:
    done = await shop.call("update_epic", id="EP-001", status="In Progress")
    done = await shop.call("update_epic", id="EP-001", status="Done")
    assert [each.message for each in done.hints or () if each.code == "open-below"] == [
        "still open below it: US-001, US-002"
    ]


async def test_everybody_sees_who_can_be_assigned_something(shop: Shop) -> None:
    first = await shop.call("list_people", shop.world.commenter, limit=3)
    rest = await shop.call("list_people", shop.world.commenter, cursor=first.next_cursor)
    names = [person.username for person in (*first.items, *rest.items)]
    assert (names, first.total, rest.has_more) == (["ada", "carl", "otto", "uma"], 4, False)


async def test_a_relationship_tells_the_states_of_its_ends(shop: Shop) -> None:
    await shop.link("AC-001", "verifies", "REQ-001")
    [found] = (await shop.call("list_relationships", id="REQ-001")).items
    assert (found.source_status, found.target_status) == ("", "Draft")
