"""How much is verified and satisfied, by epic and by type."""

from __future__ import annotations

import pytest

from accord.hub.operations.coverage import Share
from accord.operations.errors import NotFoundError
from tests.hub.relations.shop import Shop


def share(name: str, title: str, *counts: int) -> Share:
    requirements, active, verified, satisfied = counts
    return Share(
        name=name,
        title=title,
        requirements=requirements,
        active=active,
        verified=verified,
        satisfied=satisfied,
    )


async def test_shares_count_what_is_verified_and_satisfied(shop: Shop) -> None:
    for id in ("REQ-001", "REQ-002", "REQ-003"):
        await shop.call("update_requirement", id=id, status="Active")
    await shop.call("update_requirement", id="REQ-002", type="Data")
    await shop.call("update_requirement", id="REQ-001", acceptance_criteria_id="AC-001")
    await shop.link("REQ-004", "verifies", "REQ-002")
    await shop.link("REQ-004", "satisfies", "REQ-003")
    await shop.call("create_epic", title="Empty")
    epics = await shop.call("coverage_by_epic")
    assert epics.items == [
        share("EP-001", "Checkout", 4, 3, 2, 1),
        share("EP-002", "Empty", *[0] * 4),
    ]
    types = await shop.call("coverage_by_type")
    assert types.items == [share("Data", "", 1, 1, 1, 0), share("Functional", "", 3, 2, 1, 1)]
    assert (await shop.call("coverage_by_type", epic_id="EP-002")).items == []
    with pytest.raises(NotFoundError):
        await shop.call("coverage_by_type", epic_id="US-001")


async def test_the_shares_of_epics_come_page_by_page(shop: Shop) -> None:
    await shop.call("create_epic", title="Empty")
    first = await shop.call("coverage_by_epic", limit=1)
    rest = await shop.call("coverage_by_epic", limit=1, cursor=first.next_cursor)
    assert [each.name for each in (*first.items, *rest.items)] == ["EP-001", "EP-002"]
    assert (first.total, first.has_more, rest.has_more) == (2, True, False)
