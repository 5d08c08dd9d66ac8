"""How much of the requirements is verified and satisfied, counted by epic and by type, as rows."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.hub.storage.coverage import IS_VERIFIED
from accord.operations.work import Database

SATISFIED: Final = """EXISTS (
    SELECT 1 FROM relationships r WHERE r.target_id = i.id AND r.type = 'satisfies')"""
COUNTED: Final = f"""
COUNT(i.id) AS requirements,
COALESCE(SUM(CASE WHEN i.status = 'Active' THEN 1 ELSE 0 END), 0) AS active,
COALESCE(SUM(CASE WHEN i.status = 'Active' AND {IS_VERIFIED} THEN 1 ELSE 0 END), 0) AS verified,
COALESCE(SUM(CASE WHEN i.status = 'Active' AND {SATISFIED} THEN 1 ELSE 0 END), 0) AS satisfied
"""
BY_EPIC: Final = f"""
SELECT epic.number, epic.reference_id AS name, epic.title, {COUNTED}
FROM (
    SELECT id, number, reference_id, title FROM items
    WHERE kind = 'epic' AND number > $1 ORDER BY number LIMIT $2
) epic
LEFT JOIN items story ON story.parent_id = epic.id AND story.kind = 'user_story'
LEFT JOIN items i ON i.parent_id = story.id AND i.kind = 'requirement'
GROUP BY epic.number, epic.reference_id, epic.title ORDER BY epic.number
"""
BY_TYPE: Final = f"""
SELECT 0 AS number, i.type AS name, '' AS title, {COUNTED}
FROM items i WHERE i.kind = 'requirement'{{scope}} GROUP BY i.type ORDER BY i.type
"""
OF_EPIC: Final = " AND i.parent_id IN (SELECT id FROM items WHERE parent_id = $1)"


class ShareRow(Struct, frozen=True):
    """The requirement counts of one epic, or of one type."""

    number: int
    name: str
    title: str
    requirements: int
    active: int
    verified: int
    satisfied: int


async def by_epic(db: Database, behind: int, limit: int) -> list[ShareRow]:
    """Return the shares of epics after a number, by number."""
    return [_share(row) for row in await db.fetch(BY_EPIC, behind, limit)]


async def by_type(db: Database, epic_id: str | None) -> list[ShareRow]:
    """Return the shares of requirement types, in all or in an epic, by name."""
    scope, values = ("", []) if epic_id is None else (OF_EPIC, [epic_id])
    return [_share(row) for row in await db.fetch(BY_TYPE.format(scope=scope), *values)]


def _share(row: Any) -> ShareRow:
    return ShareRow(*row)
