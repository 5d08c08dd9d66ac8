"""News: what was done lately, told so that it can be read at once, and what is asked of oneself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS
from accord.hub.entities import Comment, Cursor, Difference, Limit, Page
from accord.hub.operations.changes import ChangeSummary, summary_of
from accord.hub.presentation import heading, summary
from accord.hub.storage import comments, items, pages, revisions
from accord.hub.storage.differences import Pair, shown
from accord.hub.storage.revisions import ChangeRow, RevisionRow
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Action, Database, Work

operations: Final = Registry()

MAX_TOLD: Final = 3
"""The number of effects shown with each change."""
_LAST: Final = 2**62


class Told(Struct, kw_only=True):
    """What a change did to one thing."""

    action: Action
    kind: str
    reference_id: str
    heading: str
    """What it is about, in one line: as it is now, or was."""
    differences: list[Difference]
    """Of what was there before."""


class News(ChangeSummary, kw_only=True):
    """A change with what it did to the first things that it touched."""

    touched: list[Told]
    total: int
    """How many things it touched."""


@operations.read(rest=Rest("GET", "/news"), tag="changes", tool=False, snapshot=True)
async def list_news(work: Work, *, limit: Limit = 20, cursor: Cursor | None = None) -> Page[News]:
    """List changes, newest first, each with what it did to the first things that it touched."""
    asked = pages.asked("news")
    (sequence,) = (_LAST,) if cursor is None else pages.place_of(cursor, asked, int)
    page = pages.page(
        await revisions.news(work.db, sequence, limit + 1),
        limit,
        await revisions.count_news(work.db),
        lambda last: pages.cursor_behind(asked, last.sequence),
    )
    return Page(
        items=await _news(work.db, page.items),
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


@operations.read(rest=Rest("GET", "/users/me/comments"), tag="comments", tool=False, snapshot=True)
async def list_comments_for_me(
    work: Work, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[Comment]:
    """List open comments of others on items that are assigned to you, oldest first."""
    return await comments.for_assignee(work.db, work.caller.user_id, limit, cursor)


async def _news(db: Database, changes: Sequence[ChangeRow]) -> list[News]:
    if not changes:
        return []
    ids = [each.id for each in changes]
    told = await _told(db, await revisions.first_revisions(db, ids, MAX_TOLD))
    totals = await revisions.totals(db, ids)
    return [
        News(**summary_of(each), touched=told.get(each.id, []), total=totals.get(each.id, 0))
        for each in changes
    ]


async def _told(db: Database, steps: Sequence[RevisionRow]) -> dict[str, list[Told]]:
    """Return the effects to show, by change."""
    pairs = [
        Pair(each.kind, each.before, each.after)
        if each.action == "updated"
        else Pair(each.kind, None, None)
        for each in steps
    ]
    headings = await _headings(db, [each for each in steps if each.action == "updated"])
    told: dict[str, list[Told]] = {}
    for each, differences in zip(steps, await shown(db, pairs), strict=True):
        about = headings.get(each.entity_id) or _heading(each.after or each.before or {})
        told.setdefault(each.change_id, []).append(
            Told(
                action=each.action,
                kind=each.kind,
                reference_id=each.reference_id,
                heading=about,
                differences=differences,
            )
        )
    return told


async def _headings(db: Database, steps: Sequence[RevisionRow]) -> dict[str, str]:
    """Return the current headings of items, by id."""
    ids = list({each.entity_id: None for each in steps if each.kind in KINDS})
    return {id: heading(row) for id, row in (await items.by_ids(db, ids)).items()}


def _heading(fields: Mapping[str, Any]) -> str:
    """Return the heading of an entity, from its stored fields."""
    names = ("title", "description", "text", "name", "reason")
    return next((summary(fields[name]) for name in names if fields.get(name)), "")
