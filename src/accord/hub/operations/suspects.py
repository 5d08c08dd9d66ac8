"""Suspect links: somebody looks at what changed, and says that the link still holds."""

from __future__ import annotations

from typing import Final

from accord.hub import links
from accord.hub.entities import Cursor, Id, Limit, Page, Relationship
from accord.hub.lifecycle import check_text
from accord.hub.operations.relationships import Reason, RelationshipDetail, detail
from accord.hub.storage import relationships
from accord.hub.storage.relationships import Asked
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()


@operations.write(
    rest=Rest("POST", "/relationships/{id}/confirm"), tag="relationships", idempotent=True
)
async def confirm_relationship(work: Work, *, id: Id, reason: Reason) -> Relationship:
    """Confirm that a suspect relationship still holds for what both ends say now."""
    check_text("reason", reason)
    row = await relationships.find(work.db, id)
    return links.shown(await links.confirm(work, row, reason))


@operations.read(
    rest=Rest("GET", "/suspect-relationships"),
    tag="relationships",
    tool=False,
    snapshot=True,
    cost=5,
)
async def list_suspect_relationships(
    work: Work, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[RelationshipDetail]:
    """List suspect relationships, each with what changed at its ends."""
    page = await relationships.list_links(work.db, Asked(suspect=True), limit=limit, cursor=cursor)
    return Page(
        items=[await detail(work.db, row) for row in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )
