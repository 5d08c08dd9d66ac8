"""Suspect links: somebody looks at what changed, and says that the link still holds."""

from __future__ import annotations

from typing import Final

from accord.hub import links
from accord.hub.entities import Id, Relationship
from accord.hub.lifecycle import check_text
from accord.hub.operations.relationships import Reason
from accord.hub.storage import relationships
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
