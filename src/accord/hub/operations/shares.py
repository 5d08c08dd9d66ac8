"""Shares: how much is verified and satisfied, epic by epic and type by type."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.entities import Cursor, Id, Limit, Page
from accord.hub.storage import items, pages, shares
from accord.hub.storage.shares import ShareRow
from accord.operations.operation import Rest
from accord.operations.pages import page_of, shown_page
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()


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


@operations.read(
    rest=Rest("GET", "/coverage/epics"), tag="quality", tool=False, snapshot=True, cost=5
)
async def coverage_by_epic(
    work: Work, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[Share]:
    """Tell of each epic how many of its active requirements are verified and satisfied."""
    asked = pages.asked("shares")
    (behind,) = [0] if cursor is None else pages.place_of(cursor, asked, int)
    page = page_of(
        await shares.by_epic(work.db, behind, limit + 1),
        limit=limit,
        total=await items.count_epics(work.db),
        key=lambda row: (asked, row.number),
    )
    return shown_page(page, _shown)


@operations.read(rest=Rest("GET", "/coverage/types"), tag="quality", tool=False, cost=10)
async def coverage_by_type(work: Work, *, epic_id: Id | None = None) -> Page[Share]:
    """Tell of each type of requirements how many active ones are verified and satisfied, in all or
    in an epic."""
    epic = None if epic_id is None else await items.find(work.db, epic_id, "epic")
    found = [_shown(row) for row in await shares.by_type(work.db, epic.id if epic else None)]
    return Page(items=found, next_cursor=None, has_more=False, total=len(found))


def _shown(row: ShareRow) -> Share:
    return Share(
        name=row.name,
        title=row.title,
        requirements=row.requirements,
        active=row.active,
        verified=row.verified,
        satisfied=row.satisfied,
    )
