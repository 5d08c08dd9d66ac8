"""What an item is connected with, in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from accord.hub.operations.relationships import Line, Neighbour
from accord.operations.errors import InvalidError, NotFoundError
from tests.hub.relations.shop import Shop


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
        Line(
            source="REQ-001",
            target="REQ-004",
            type="verifies",
            suspect=True,
            relationship_id=link,
        ),
        Line(source="US-001", target="REQ-001", type="has", suspect=False, relationship_id=None),
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
