"""Relationships, suspect links, impact and neighbourhoods."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.hub.entities import Deletion, Difference
from accord.hub.operations.relationships import EndChange, Neighbour, NeighbourLink
from accord.operations.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from tests.hub.operations.shop import Shop


@pytest.mark.req("H-01")
async def test_a_relationship_names_both_ends(shop: Shop) -> None:
    made = await shop.call(
        "create_relationship", source_id="req-001", target_id="AC-001", type="Verifies"
    )
    found = await shop.call("get_relationship", id=made.id)
    assert (found.source_reference_id, found.type, found.target_reference_id) == (
        *("REQ-001", "verifies", "AC-001"),
    )
    assert (found.source_title, found.target_title) == ("Charge", "Paid once.")
    assert (found.inverse, found.creator) == ("is_verified_by", "uma")
    assert (found.suspect, found.changed, found.changes) == (False, UNSET, UNSET)


async def test_all_kinds_but_prompts_are_linked(shop: Shop) -> None:
    for source in ("EP-001", "US-001", "AC-001", "REQ-001", "STD-001"):
        await shop.link(source, "relates_to", "REQ-002")
    await shop.call("create_prompt", shop.world.admin, name="p", title="P", content="Do.")
    with pytest.raises(InvalidError, match="target_id: Prompt has no relationships"):
        await shop.link("REQ-001", "relates_to", "PROMPT-001")


async def test_a_wrong_type_is_answered_with_the_valid_ones(shop: Shop) -> None:
    with pytest.raises(InvalidError) as refused:
        await shop.link("REQ-001", "depend_on", "REQ-002")
    assert refused.value.errors[0].pointer == "/type"
    assert refused.value.data["valid"] == [
        *("blocks", "conflicts_with", "depends_on", "derives_from", "duplicates", "refines"),
        *("relates_to", "satisfies", "verifies"),
    ]
    assert "there are: depends_on, " in refused.value.message


async def test_nothing_is_linked_to_itself_or_to_what_is_not_there(shop: Shop) -> None:
    with pytest.raises(InvalidError, match="target_id: REQ-001 cannot be linked to itself"):
        await shop.link("REQ-001", "blocks", "req-1")
    with pytest.raises(NotFoundError, match="REQ-999"):
        await shop.link("REQ-001", "blocks", "REQ-999")


async def test_the_same_triple_is_refused_and_another_type_is_not(shop: Shop) -> None:
    first = await shop.link("REQ-001", "verifies", "REQ-002")
    with pytest.raises(ConflictError) as refused:
        await shop.link("REQ-001", "verifies", "REQ-002")
    assert refused.value.message == (
        "there is such a relationship already: REQ-001 verifies REQ-002"
    )
    assert refused.value.data == {"relationship_id": first}
    await shop.link("REQ-001", "satisfies", "REQ-002")
    await shop.link("REQ-002", "verifies", "REQ-001")


async def test_a_symmetric_link_is_one_from_both_ends(shop: Shop) -> None:
    made = await shop.link("REQ-001", "relates_to", "REQ-002")
    with pytest.raises(ConflictError, match="REQ-001 relates_to REQ-002"):
        await shop.link("REQ-002", "relates_to", "REQ-001")
    for id in ("REQ-001", "REQ-002"):
        for direction in ("both", "outgoing", "incoming"):
            page = await shop.call("list_relationships", id=id, direction=direction)
            assert [each.id for each in page.items] == [made]


@pytest.mark.parametrize("type", ["depends_on", "blocks", "derives_from", "refines"])
async def test_a_circle_is_refused_with_the_way_around(shop: Shop, type: str) -> None:
    await shop.link("EP-001", type, "US-001")
    await shop.link("US-001", type, "REQ-001")
    await shop.link("REQ-001", type, "REQ-002")
    with pytest.raises(ConflictError) as refused:
        await shop.link("REQ-002", type, "US-001")
    assert refused.value.message == (
        f"{type} would close a circle: REQ-002 -> US-001 -> REQ-001 -> REQ-002"
    )
    assert refused.value.data == {"path": ["REQ-002", "US-001", "REQ-001", "REQ-002"]}
    await shop.link("EP-001", type, "REQ-002")


async def test_links_of_other_types_close_no_circle(shop: Shop) -> None:
    await shop.link("REQ-001", "depends_on", "REQ-002")
    await shop.link("REQ-002", "blocks", "REQ-001")
    await shop.link("REQ-001", "satisfies", "REQ-002")
    await shop.link("REQ-002", "satisfies", "REQ-001")
    found = await shop.call("list_relationships", id="REQ-001")
    assert sorted(each.type for each in found.items) == [
        *("blocks", "depends_on", "satisfies", "satisfies"),
    ]


async def test_a_type_is_changed_by_the_same_rules(shop: Shop) -> None:
    made = await shop.link("REQ-001", "relates_to", "REQ-002")
    await shop.link("REQ-002", "blocks", "REQ-001")
    with pytest.raises(ConflictError, match="circle"):
        await shop.call("update_relationship", id=made, type="blocks")
    assert (await shop.call("update_relationship", id=made, type="depends_on")).type == "depends_on"
    same = await shop.outcome("update_relationship", id=made, type="depends_on")
    assert same.effects == ()


async def test_links_are_listed_by_end_direction_and_type(shop: Shop) -> None:
    await shop.link("REQ-001", "blocks", "REQ-002")
    await shop.link("REQ-003", "blocks", "REQ-001")
    await shop.link("REQ-003", "verifies", "REQ-002")
    asked: dict[str, dict[str, Any]] = {
        "all": {},
        "of one": {"id": "REQ-001"},
        "out": {"id": "REQ-001", "direction": "outgoing"},
        "in": {"id": "REQ-001", "direction": "incoming"},
        "by type": {"type": "verifies"},
        "by both": {"id": "REQ-003", "type": "blocks"},
    }
    found = {}
    for name, arguments in asked.items():
        page = await shop.call("list_relationships", **arguments)
        found[name] = (
            page.total,
            [f"{each.source_reference_id} {each.target_reference_id}" for each in page.items],
        )
    assert found == {
        "all": (3, ["REQ-001 REQ-002", "REQ-003 REQ-001", "REQ-003 REQ-002"]),
        "of one": (2, ["REQ-001 REQ-002", "REQ-003 REQ-001"]),
        "out": (1, ["REQ-001 REQ-002"]),
        "in": (1, ["REQ-003 REQ-001"]),
        "by type": (1, ["REQ-003 REQ-002"]),
        "by both": (1, ["REQ-003 REQ-001"]),
    }


async def test_pages_of_links_leave_nothing_out(shop: Shop) -> None:
    made = [
        await shop.link("REQ-001", type, "REQ-002") for type in ("blocks", "verifies", "refines")
    ]
    found, cursor = [], None
    for has_more in (True, True, False):
        page = await shop.call("list_relationships", id="REQ-001", limit=1, cursor=cursor)
        assert (page.total, page.has_more) == (3, has_more)
        found += [each.id for each in page.items]
        cursor = page.next_cursor
    assert found == made
    first = await shop.call("list_relationships", limit=1)
    with pytest.raises(InvalidError, match="cursor"):
        await shop.call("list_relationships", id="REQ-001", cursor=first.next_cursor)


async def test_a_link_is_deleted_by_id_or_by_what_it_says(shop: Shop) -> None:
    made = await shop.link("REQ-001", "blocks", "REQ-002")
    await shop.link("REQ-001", "relates_to", "REQ-003")
    gone = await shop.call("delete_relationship", id=made)
    assert gone == Deletion(
        change_id=gone.change_id, deleted="REQ-001 blocks REQ-002", also_deleted=[]
    )
    await shop.call(
        "delete_relationship", source_id="REQ-003", target_id="REQ-001", type="relates_to"
    )
    assert (await shop.call("list_relationships")).total == 0
    with pytest.raises(NotFoundError, match="no relationship REQ-001 blocks REQ-002"):
        await shop.call(
            "delete_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks"
        )
    with pytest.raises(NotFoundError):
        await shop.call("delete_relationship", id=made)
    with pytest.raises(NotFoundError):
        await shop.call("delete_relationship", id="REQ-001")


async def test_what_to_delete_is_named_one_way(shop: Shop) -> None:
    with pytest.raises(InvalidError, match="source_id, target_id and type"):
        await shop.call("delete_relationship", source_id="REQ-001")
    with pytest.raises(InvalidError, match="not both"):
        await shop.call("delete_relationship", id="x", source_id="REQ-001")


@pytest.mark.req("H-14")
async def test_only_who_made_a_link_deletes_it_and_administrators_all(shop: Shop) -> None:
    made = await shop.link("REQ-001", "blocks", "REQ-002")
    with pytest.raises(ForbiddenError):
        await shop.call("delete_relationship", shop.world.other, id=made)
    with pytest.raises(ForbiddenError):
        await shop.call(
            "create_relationship",
            shop.world.commenter,
            source_id="REQ-001",
            target_id="REQ-002",
            type="blocks",
        )
    await shop.call("delete_relationship", shop.world.admin, id=made)


async def test_effects_tell_the_row_as_it_is_stored(shop: Shop) -> None:
    made = await shop.outcome(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks"
    )
    (effect,) = made.effects
    (stored,) = await shop.world.store.fetch("SELECT * FROM relationships")
    assert effect.after == {name: stored[name] for name in dict(effect.after or {})}
    assert (effect.kind, effect.id, effect.reference_id) == (
        *("relationship", made.result.id, "REQ-001 blocks REQ-002"),
    )


async def test_a_dry_run_links_nothing(shop: Shop) -> None:
    preview = await shop.call(
        "create_relationship", source_id="REQ-001", target_id="REQ-002", type="blocks", dry_run=True
    )
    assert [each.action for each in preview.changes] == ["created"]
    assert (await shop.call("list_relationships")).total == 0


async def test_a_link_is_suspect_once_an_end_says_something_else(shop: Shop) -> None:
    made = await shop.link("REQ-001", "verifies", "AC-001")
    other = await shop.link("REQ-002", "verifies", "AC-001")
    await shop.call("update_requirement", id="REQ-001", status="Active")
    assert (await shop.call("list_relationships", suspect=True)).total == 0
    await shop.edit("REQ-001", "The till shall charge the card.")
    suspects = await shop.call("list_relationships", suspect=True)
    assert [(each.id, each.changed) for each in suspects.items] == [(made, ["REQ-001"])]
    assert [each.id for each in (await shop.call("list_relationships", suspect=False)).items] == [
        other
    ]
    found = await shop.call("get_relationship", id=made)
    assert found.changes == [
        EndChange(
            reference_id="REQ-001",
            differences=[
                Difference(field="description", before="", after="The till shall charge the card."),
                Difference(field="status", before="Draft", after="Active"),
            ],
        )
    ]


async def test_suspect_links_are_listed_with_what_changed(shop: Shop) -> None:
    ids = [await shop.link("REQ-001", "verifies", f"REQ-00{number}") for number in (2, 3, 4)]
    await shop.edit("REQ-002", "Two.")
    await shop.edit("REQ-004", "Four.")
    first = await shop.call("list_suspect_relationships", limit=1)
    rest = await shop.call("list_suspect_relationships", limit=1, cursor=first.next_cursor)
    assert [(each.id, each.changes) for each in (*first.items, *rest.items)] == [
        (
            ids[place],
            [
                EndChange(
                    reference_id=name,
                    differences=[Difference(field="description", before="", after=text)],
                )
            ],
        )
        for place, name, text in ((0, "REQ-002", "Two."), (2, "REQ-004", "Four."))
    ]
    assert (first.total, rest.has_more) == (2, False)


async def test_a_confirmed_link_is_no_longer_suspect_until_the_next_change(shop: Shop) -> None:
    made = await shop.link("REQ-001", "verifies", "REQ-002")
    await shop.edit("REQ-001", "One.")
    await shop.edit("REQ-002", "Two.")
    assert (await shop.call("get_relationship", id=made)).changed == ["REQ-001", "REQ-002"]
    confirmed = await shop.call(
        "confirm_relationship", shop.world.other, id=made, reason="Read both."
    )
    assert (confirmed.suspect, confirmed.confirmed_by, confirmed.confirmed_reason) == (
        *(False, "otto", "Read both."),
    )
    await shop.edit("REQ-002", "Three.")
    assert (await shop.call("get_relationship", id=made)).changed == ["REQ-002"]


async def test_a_link_is_confirmed_with_a_reason(shop: Shop) -> None:
    made = await shop.link("REQ-001", "verifies", "REQ-002")
    for reason in ("", "nul \0"):
        with pytest.raises(InvalidError, match="reason"):
            await shop.call("confirm_relationship", id=made, reason=reason)


def lines(found: Any) -> list[str]:
    return [f"{line.source} {line.type} {line.target}" for line in found.lines]


async def test_a_neighbourhood_has_links_and_places_in_the_hierarchy(shop: Shop) -> None:
    link = await shop.link("REQ-001", "verifies", "REQ-004")
    await shop.edit("REQ-004", "Something else.")
    found = await shop.call("get_neighbourhood", id="req-001")
    assert (found.reference_id, found.title, found.more) == ("REQ-001", "Charge", 0)
    assert found.items == [
        Neighbour(
            reference_id=name, kind=kind, title=title, status=status, distance=distance, more=more
        )
        for name, kind, title, status, distance, more in (
            ("REQ-001", "requirement", "Charge", "Draft", 0, 0),
            ("REQ-004", "requirement", "Mail", "Draft", 1, 1),
            ("US-001", "user_story", "Pay by card", "Backlog", 1, 4),
        )
    ]
    assert found.lines == [
        NeighbourLink(
            source="REQ-001",
            target="REQ-004",
            type="verifies",
            suspect=True,
            relationship_id=link,
        ),
        NeighbourLink(
            source="US-001", target="REQ-001", type="has", suspect=False, relationship_id=None
        ),
    ]


async def test_a_deeper_neighbourhood_has_what_is_behind(shop: Shop) -> None:
    await shop.call("update_requirement", id="REQ-001", acceptance_criteria_id="AC-001")
    await shop.call("update_steering_document", id="STD-001", epic_ids=["EP-001"])
    found = await shop.call("get_neighbourhood", id="REQ-001", depth=3)
    assert {item.reference_id: item.distance for item in found.items} == {
        "REQ-001": 0,
        "US-001": 1,
        "AC-001": 1,
        "EP-001": 2,
        "REQ-002": 2,
        "REQ-003": 2,
        "STD-001": 3,
        "US-002": 3,
    }
    assert "STD-001 steers EP-001" in lines(found)
    assert {item.reference_id: item.more for item in found.items if item.more} == {"US-002": 1}


async def test_only_some_types_are_followed_where_they_are_named(shop: Shop) -> None:
    await shop.link("REQ-001", "verifies", "REQ-002")
    await shop.link("REQ-003", "depends_on", "REQ-001")
    found = await shop.call(
        "get_neighbourhood", id="REQ-001", types=["Depends on"], hierarchy=False
    )
    assert lines(found) == ["REQ-003 depends_on REQ-001"]
    places = await shop.call("get_neighbourhood", id="REQ-001", types=[])
    assert lines(places) == ["US-001 has REQ-001"]
    with pytest.raises(InvalidError, match="relationship type"):
        await shop.call("get_neighbourhood", id="REQ-001", types=["likes"])
    with pytest.raises(NotFoundError):
        await shop.call("get_neighbourhood", id="REQ-999")


async def test_a_large_neighbourhood_is_bounded_and_the_rest_is_counted(shop: Shop) -> None:
    for number in range(12):
        await shop.call("create_requirement", user_story_id="US-002", title=f"Mail {number}")
    found = await shop.call("get_neighbourhood", id="US-002", limit=5)
    assert (len(found.items), found.more, found.items[0].more) == (6, 9, 9)
