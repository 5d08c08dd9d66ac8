"""Coverage: gaps, figures, the matrix, shares by epic and by type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.hub.domain.lint import RULES
from accord.hub.entities import GAPS
from accord.hub.operations.coverage import CoverageFigures, Share, TracedRequirement, percent
from accord.hub.operations.relationships import AffectedItem
from accord.operations.errors import InvalidError, NotFoundError
from accord.web import svg
from tests.hub.operations.shop import Shop

EXPECTED = {"REQ-001": True, "REQ-002": True, "REQ-003": True, "REQ-004": False}


async def test_gaps_are_told_with_figures(shop: Shop) -> None:
    await shop.call(
        "update_requirement", id="REQ-001", status="Active", acceptance_criteria_id="AC-001"
    )
    await shop.call("update_requirement", id="REQ-002", status="Active")
    await shop.call("update_requirement", id="REQ-003", status="Active")
    await shop.link("REQ-004", "verifies", "REQ-003")
    found = await shop.call("coverage_gaps")
    assert found.figures == CoverageFigures(
        epics=1,
        user_stories=2,
        acceptance_criteria=1,
        requirements=4,
        active_requirements=3,
        verified_active_requirements=2,
        verified_percent=66.6,
        suspect_links=0,
    )
    assert _gaps(found) == {
        "story_without_criteria": ["US-002"],
        "requirement_without_verification": ["REQ-004"],
        "active_requirement_unverified": ["REQ-002"],
        "steering_document_without_epics": ["STD-001"],
    }


async def test_every_gap_is_found_and_closed(shop: Shop) -> None:
    await shop.call("create_epic", title="Empty")
    await shop.call("create_user_story", epic_id="EP-001", title="Bare")
    await shop.link("REQ-001", "depends_on", "REQ-002")
    for id, status in (("REQ-001", "Active"), ("REQ-002", "Obsolete")):
        await shop.call("update_requirement", id=id, status=status)
    await shop.edit("REQ-001", "Something else.")
    await shop.call("update_user_story", id="US-002", status="Cancelled")
    found = await shop.call("coverage_gaps")
    assert _gaps(found) == {
        "epic_without_stories": ["EP-002"],
        "story_without_criteria": ["US-003"],
        "story_without_requirements": ["US-003"],
        "criteria_without_requirements": ["AC-001"],
        "requirement_without_verification": ["REQ-003", "REQ-004"],
        "active_requirement_unverified": ["REQ-001"],
        "active_requirement_needs_obsolete": ["REQ-001"],
        "suspect_links": ["REQ-001"],
        "open_under_cancelled": ["REQ-004"],
        "steering_document_without_epics": ["STD-001"],
    }
    assert set(_gaps(found)) == set(GAPS)
    assert found.figures.suspect_links == 1
    await shop.link("AC-001", "verifies", "REQ-001")
    closed = _gaps(await shop.call("coverage_gaps"))
    assert not closed.keys() & {"criteria_without_requirements", "active_requirement_unverified"}


async def test_gaps_are_those_of_an_epic_where_one_is_named(shop: Shop) -> None:
    await shop.call("create_epic", title="Empty")
    found = await shop.call("coverage_gaps", epic_id="EP-002")
    assert (_gaps(found), found.figures.requirements, found.figures.verified_percent) == (
        *({"epic_without_stories": ["EP-002"]}, 0, None),
    )
    with pytest.raises(NotFoundError):
        await shop.call("coverage_gaps", epic_id="US-001")


async def test_one_gap_comes_page_by_page(shop: Shop) -> None:
    gap = "requirement_without_verification"
    first = await shop.call("coverage_gaps", gap=gap, limit=3)
    rest = await shop.call("coverage_gaps", gap=gap, limit=3, cursor=first.gaps[0].next_cursor)
    assert _gaps(first) == {gap: ["REQ-001", "REQ-002", "REQ-003"]}
    assert _gaps(rest) == {gap: ["REQ-004"]}
    assert (first.gaps[0].total, rest.gaps[0].next_cursor) == (4, None)
    with pytest.raises(InvalidError, match="name the gap"):
        await shop.call("coverage_gaps", cursor=first.gaps[0].next_cursor)
    none = await shop.call("coverage_gaps", gap="suspect_links")
    assert [(each.gap, each.total) for each in none.gaps] == [("suspect_links", 0)]


async def test_the_matrix_connects_requirements_with_all_that_they_touch(shop: Shop) -> None:
    await shop.call("update_requirement", id="REQ-001", acceptance_criteria_id="AC-001")
    await shop.link("REQ-002", "verifies", "REQ-001")
    await shop.link("REQ-001", "relates_to", "EP-001")
    await shop.edit("REQ-002", "Something else.")
    page = await shop.call("traceability_matrix", limit=2)
    assert (page.total, page.has_more) == (4, True)
    assert page.items == [
        TracedRequirement(
            reference_id="REQ-001",
            title="Charge",
            status="Draft",
            epic="EP-001",
            user_story="US-001",
            acceptance_criteria="AC-001",
            links={"is_verified_by": ["REQ-002"], "relates_to": ["EP-001"]},
            verified=True,
            suspect=["REQ-002"],
        ),
        TracedRequirement(
            reference_id="REQ-002",
            title="Refund",
            status="Draft",
            epic="EP-001",
            user_story="US-001",
            acceptance_criteria=None,
            links={"verifies": ["REQ-001"]},
            verified=False,
            suspect=["REQ-001"],
        ),
    ]
    rest = await shop.call("traceability_matrix", limit=2, cursor=page.next_cursor)
    assert [each.reference_id for each in rest.items] == ["REQ-003", "REQ-004"]


async def test_the_matrix_of_an_epic_has_its_requirements_only(shop: Shop) -> None:
    await shop.call("create_epic", title="Empty")
    assert (await shop.call("traceability_matrix", epic_id="EP-002")).items == []
    page = await shop.call("traceability_matrix", epic_id="EP-001", limit=1)
    assert (page.total, [each.reference_id for each in page.items]) == (4, ["REQ-001"])
    rest = await shop.call("traceability_matrix", epic_id="EP-001", cursor=page.next_cursor)
    assert len(rest.items) == 3


async def test_what_a_change_affects_is_told_with_the_ways_there(shop: Shop) -> None:
    await shop.link("REQ-002", "depends_on", "REQ-001")
    await shop.link("REQ-002", "blocks", "REQ-003")
    await shop.link("REQ-001", "depends_on", "REQ-004")
    await shop.link("AC-001", "verifies", "REQ-001")
    found = await shop.call("impact_analysis", id="REQ-001")
    assert found.items == [
        AffectedItem(
            reference_id="REQ-002",
            kind="requirement",
            title="Refund",
            status="Draft",
            distance=1,
            path="REQ-001 is_depended_on_by REQ-002",
        ),
        AffectedItem(
            reference_id="AC-001",
            kind="acceptance_criteria",
            title="Paid once.",
            status="",
            distance=1,
            path="REQ-001 is_verified_by AC-001",
        ),
        AffectedItem(
            reference_id="REQ-003",
            kind="requirement",
            title="Log",
            status="Draft",
            distance=2,
            path="REQ-001 is_depended_on_by REQ-002 blocks REQ-003",
        ),
    ]
    assert (found.total, found.by_kind, found.truncated) == (
        *(3, {"requirement": 2, "acceptance_criteria": 1}, False),
    )
    assert found.text.splitlines() == [
        "REQ-001 Charge",
        "  is_depended_on_by REQ-002 Refund",
        "    blocks REQ-003 Log",
        "  is_verified_by AC-001 Paid once.",
    ]


async def test_an_epic_affects_what_is_under_it_and_a_steering_document_its_epics(
    shop: Shop,
) -> None:
    await shop.call("update_steering_document", id="STD-001", epic_ids=["EP-001"])
    found = await shop.call("impact_analysis", id="STD-001")
    assert found.text.splitlines() == [
        "STD-001 Security",
        "  steers EP-001 Checkout",
        "    has US-001 Pay by card",
        "      has AC-001 Paid once.",
        "      has REQ-001 Charge",
        "      has REQ-002 Refund",
        "      has REQ-003 Log",
        "    has US-002 Get a receipt",
        "      has REQ-004 Mail",
    ]


async def test_acceptance_criteria_affect_the_requirements_that_belong_to_them(shop: Shop) -> None:
    await shop.call("update_requirement", id="REQ-001", acceptance_criteria_id="AC-001")
    found = await shop.call("impact_analysis", id="AC-001")
    assert [each.path for each in found.items] == ["AC-001 has REQ-001"]


async def test_circles_are_walked_once(shop: Shop) -> None:
    await shop.link("REQ-001", "relates_to", "REQ-002")
    await shop.link("REQ-002", "duplicates", "REQ-003")
    await shop.link("REQ-003", "conflicts_with", "REQ-001")
    found = await shop.call("impact_analysis", id="REQ-001", depth=20)
    assert ({each.reference_id for each in found.items}, found.truncated) == (
        *({"REQ-002", "REQ-003"}, False),
    )


async def test_the_walk_ends_at_a_depth_and_at_a_number_and_says_so(shop: Shop) -> None:
    near = await shop.call("impact_analysis", id="EP-001", depth=1)
    assert ([each.reference_id for each in near.items], near.truncated) == (
        ["US-001", "US-002"],
        True,
    )
    few = await shop.call("impact_analysis", id="EP-001", limit=3)
    assert (few.total, few.truncated) == (3, True)
    none = await shop.call("impact_analysis", id="REQ-004", depth=1)
    assert (none.items, none.truncated, none.text) == ([], False, "REQ-004 Mail")


async def test_links_of_some_types_only_are_followed_where_they_are_named(shop: Shop) -> None:
    await shop.link("REQ-002", "depends_on", "REQ-001")
    await shop.link("REQ-003", "refines", "REQ-001")
    found = await shop.call("impact_analysis", id="REQ-001", types=["Refines"])
    assert [each.reference_id for each in found.items] == ["REQ-003"]
    with pytest.raises(InvalidError, match="types: there is no relationship type 'x'"):
        await shop.call("impact_analysis", id="REQ-001", types=["x"])


def _gaps(found: Any) -> dict[str, list[str]]:
    return {each.gap: [item.reference_id for item in each.items] for each in found.gaps}


@pytest.mark.req("H-50")
def test_only_all_of_them_are_100_percent() -> None:
    """Pages and figures round in the same way."""
    assert [percent(part, 2_000) for part in (0, 1, 1_999, 2_000)] == [0.0, 0.0, 99.9, 100.0]
    assert svg.percent(1_999, 2_000) == "99 %"
    assert percent(0, 0) is None


@pytest.mark.req("H-50")
async def test_everything_that_tells_coverage_agrees(shop: Shop) -> None:
    """Verify by criteria, by a link, by both and by neither: all reports agree."""
    for id in ("REQ-001", "REQ-002", "REQ-003", "REQ-004"):
        await shop.call("update_requirement", id=id, status="Active")
    for id in ("REQ-001", "REQ-003"):
        await shop.call("update_requirement", id=id, acceptance_criteria_id="AC-001")
    for id in ("REQ-002", "REQ-003"):
        await shop.link("AC-001", "verifies", id)
    gaps = _gaps(await shop.call("coverage_gaps"))
    traced = (await shop.call("traceability_matrix")).items
    around = {each: await shop.call("get_surroundings", id=each) for each in EXPECTED}
    assert {id: id not in gaps["active_requirement_unverified"] for id in EXPECTED} == EXPECTED
    assert {each.reference_id: each.verified for each in traced} == EXPECTED
    assert {id: it.verified for id, it in around.items()} == EXPECTED
    figures = (await shop.call("coverage_gaps")).figures
    by_epic = (await shop.call("coverage_by_epic")).items
    by_type = (await shop.call("coverage_by_type")).items
    assert figures.verified_active_requirements == 3
    assert (sum(it.verified for it in by_epic), sum(it.verified for it in by_type)) == (3, 3)
    assert (await shop.call("get_surroundings", id="EP-001")).verified is None


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


PAGE = (Path(__file__).parents[3] / "docs/hub/quality.md").read_text(encoding="utf-8")


def test_the_page_names_every_rule_and_every_gap() -> None:
    assert [name for name in (*RULES, *GAPS) if f"`{name}`" not in PAGE] == []


async def test_the_page_names_every_type_of_relationships(shop: Shop) -> None:
    types = await shop.call("list_relationship_types")
    rows = [line.split("|")[1:4] for line in PAGE.splitlines() if line.startswith("| `")]
    told = {row[0].strip(" `"): (row[1].strip(" `"), row[2].strip()) for row in rows}
    for each in types.items:
        note = "no circles" if each.acyclic else "the same from both ends" if each.symmetric else ""
        assert told[each.name] == (each.inverse, note)
