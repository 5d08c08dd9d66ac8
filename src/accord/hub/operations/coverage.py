"""Operations on coverage: gaps, figures, the traceability matrix, shares."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.entities import GAPS, Cursor, Gap, Id, Limit, Page
from accord.hub.presentation import summary
from accord.hub.storage import coverage, items, rows
from accord.hub.storage.coverage import GapRow, ShareRow, TracedLink, TracedRow
from accord.hub.storage.rows import cursor_values, query_hash
from accord.operations.context import OperationContext
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import map_page, page_of
from accord.operations.registry import Registry

operations: Final = Registry()

MEANINGS: Final[dict[Gap, str]] = {
    "epic_without_stories": "An epic that has no user stories.",
    "story_without_criteria": "A user story that has no acceptance criteria.",
    "story_without_requirements": "A user story that has no requirements.",
    "criteria_without_requirements": "Acceptance criteria that no requirement belongs to.",
    "requirement_without_verification": "A draft that nothing verifies yet.",
    "active_requirement_unverified": "An active requirement that nothing verifies.",
    "active_requirement_needs_obsolete": "An active requirement that needs an obsolete one.",
    "suspect_links": "An item that said something else since its links were confirmed.",
    "open_under_cancelled": "Something still open under what was cancelled.",
    "steering_document_without_epics": "A steering document that is linked to no epic.",
}


UNVERIFIED: Final[Gap] = "active_requirement_unverified"


class LackingItem(Struct, kw_only=True):
    reference_id: str
    title: str
    status: str


class GapFound(Struct, kw_only=True):
    """What lacks the same thing."""

    gap: Gap
    meaning: str
    total: int
    items: list[LackingItem]
    next_cursor: str | None
    """Gives more of this gap, together with `gap`."""


class CoverageFigures(Struct, kw_only=True):
    epics: int
    user_stories: int
    acceptance_criteria: int
    requirements: int
    active_requirements: int
    verified_active_requirements: int
    verified_percent: float | None
    """Of the active requirements, rounded down; null where there are none."""
    suspect_links: int


class Coverage(Struct, kw_only=True):
    figures: CoverageFigures
    gaps: list[GapFound]
    """Those that there are."""


class TracedRequirement(Struct, kw_only=True):
    """A requirement, what it stands under, and what it is linked to."""

    __schema_name__ = "Traced"

    reference_id: str
    title: str
    status: str
    epic: str
    user_story: str
    acceptance_criteria: str | None
    links: dict[str, list[str]]
    """By type, as it is called from the requirement: the reference ids of the others."""
    verified: bool
    suspect: list[str]
    """Those at the other end of suspect links."""


@operations.read(rest=Rest("GET", "/coverage"), tag="quality", snapshot=True, cost=20)
async def coverage_gaps(
    work: OperationContext,
    *,
    epic_id: Id | None = None,
    gap: Gap | None = None,
    limit: Limit = 10,
    cursor: Cursor | None = None,
) -> Coverage:
    """Tell what is missing: stories without criteria, unverified requirements, suspect links …, in
    all or in an epic. `gap` shows one of them, page by page."""
    if cursor is not None and gap is None:
        raise InvalidError("cursor", "name the gap that it belongs to")
    epic = None if epic_id is None else await items.find(work.db, epic_id, "epic")
    id = epic.id if epic else None
    found = [
        await _found(work, each, id, limit, cursor) for each in (GAPS if gap is None else (gap,))
    ]
    counted = {each.gap: each.total for each in found}
    if UNVERIFIED not in counted:
        counted[UNVERIFIED] = await coverage.count_gaps(work.db, UNVERIFIED, id)
    return Coverage(
        figures=await _figures(work, id, counted[UNVERIFIED]),
        gaps=[each for each in found if each.total or gap is not None],
    )


@operations.read(rest=Rest("GET", "/traceability-matrix"), tag="quality", snapshot=True, cost=5)
async def traceability_matrix(
    work: OperationContext,
    *,
    epic_id: Id | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[TracedRequirement]:
    """List requirements with their epic, story, acceptance criteria and links, in all or in an
    epic."""
    epic = None if epic_id is None else await items.find(work.db, epic_id, "epic")
    id = epic.id if epic else None
    query = query_hash("matrix", id)
    (after,) = [0] if cursor is None else cursor_values(cursor, query, int)
    rows = await coverage.traced(work.db, id, after, limit + 1)
    page = page_of(
        rows,
        limit=limit,
        total=await coverage.count_traced(work.db, id),
        key=lambda row: (query, row.number),
    )
    links = await coverage.traced_links(work.db, [row.id for row in page.items])
    return Page(
        items=[_traced(row, [link for link in links if link.of == row.id]) for row in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


async def _found(
    work: OperationContext, gap: Gap, epic_id: str | None, limit: int, cursor: str | None
) -> GapFound:
    query = query_hash("coverage", gap, epic_id)
    kind, number = "", 0
    if cursor is not None:
        kind, number = cursor_values(cursor, query, str, int)
    total = await coverage.count_gaps(work.db, gap, epic_id)
    found: list[GapRow] = []
    if total:
        found = await coverage.items_with_gap(work.db, gap, epic_id, (kind, number), limit + 1)
    page = page_of(found, limit=limit, total=total, key=lambda row: (query, row.kind, row.number))
    return GapFound(
        gap=gap,
        meaning=MEANINGS[gap],
        total=total,
        items=[_lacking(row) for row in page.items],
        next_cursor=page.next_cursor,
    )


def _lacking(row: GapRow) -> LackingItem:
    return LackingItem(
        reference_id=row.reference_id,
        title=row.title or summary(row.description),
        status=row.status,
    )


def percent(part: int, whole: int) -> float | None:
    """Return a percentage, rounded down: 100 means all. None if `whole` is 0."""
    return 1000 * part // whole / 10 if whole else None


async def _figures(work: OperationContext, epic_id: str | None, unverified: int) -> CoverageFigures:
    found = await coverage.figures(work.db, epic_id)

    def number(kind: str, status: str | None = None) -> int:
        return sum(
            each.number for each in found if each.kind == kind and status in (None, each.status)
        )

    active = number("requirement", "Active")
    verified = active - unverified
    return CoverageFigures(
        epics=number("epic"),
        user_stories=number("user_story"),
        acceptance_criteria=number("acceptance_criteria"),
        requirements=number("requirement"),
        active_requirements=active,
        verified_active_requirements=verified,
        verified_percent=percent(verified, active),
        suspect_links=await coverage.suspect_links(work.db, epic_id),
    )


def _traced(row: TracedRow, links: list[TracedLink]) -> TracedRequirement:
    by_type: dict[str, list[str]] = {}
    for link in links:
        by_type.setdefault(link.label, []).append(link.other)
    return TracedRequirement(
        reference_id=row.reference_id,
        title=row.title,
        status=row.status,
        epic=row.epic,
        user_story=row.story,
        acceptance_criteria=row.criteria,
        links=by_type,
        verified=bool(row.verified),
        suspect=[link.other for link in links if link.suspect],
    )


share_operations: Final = Registry()


class Share(Struct, kw_only=True):
    """The requirements of one epic, or of one type, counted."""

    name: str
    """The epic's reference id, or the type."""
    title: str
    """Of the epic."""
    requirements: int
    active: int
    verified: int
    """Of the active ones."""
    satisfied: int
    """Of the active ones: those that something satisfies."""


@share_operations.read(
    rest=Rest("GET", "/coverage/epics"), tag="quality", tool=False, snapshot=True, cost=5
)
async def coverage_by_epic(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[Share]:
    """Tell of each epic how many of its active requirements are verified and satisfied."""
    query = rows.query_hash("shares")
    (after,) = [0] if cursor is None else rows.cursor_values(cursor, query, int)
    page = page_of(
        await coverage.shares_by_epic(work.db, after, limit + 1),
        limit=limit,
        total=await items.count_epics(work.db),
        key=lambda row: (query, row.number),
    )
    return map_page(page, _share)


@share_operations.read(rest=Rest("GET", "/coverage/types"), tag="quality", tool=False, cost=10)
async def coverage_by_type(work: OperationContext, *, epic_id: Id | None = None) -> Page[Share]:
    """Tell of each type of requirements how many active ones are verified and satisfied, in all or
    in an epic."""
    epic = None if epic_id is None else await items.find(work.db, epic_id, "epic")
    found = [
        _share(row) for row in await coverage.shares_by_type(work.db, epic.id if epic else None)
    ]
    return Page(items=found, next_cursor=None, has_more=False, total=len(found))


def _share(row: ShareRow) -> Share:
    return Share(
        name=row.name,
        title=row.title,
        requirements=row.requirements,
        active=row.active,
        verified=row.verified,
        satisfied=row.satisfied,
    )
