"""The traceability matrix: requirements with what they stand under and are linked to, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from accord.hub.storage import rows
from accord.hub.storage.coverage import IS_VERIFIED
from accord.operations.work import Database

OF_EPIC: Final = " AND i.parent_id IN (SELECT id FROM items WHERE parent_id = $1)"
COUNT: Final = "SELECT COUNT(*) AS total FROM items i WHERE i.kind = 'requirement'"
SELECT: Final = f"""
SELECT i.id, i.number, i.reference_id, i.title, i.status, epic.reference_id AS epic,
       story.reference_id AS story, criteria.reference_id AS criteria,
       (CASE WHEN {IS_VERIFIED} THEN 1 ELSE 0 END) AS verified
FROM items i
JOIN items story ON story.id = i.parent_id
JOIN items epic ON epic.id = story.parent_id
LEFT JOIN items criteria ON criteria.id = i.criteria_id
WHERE i.kind = 'requirement'
"""
LINKS: Final = """
SELECT r.source_id AS of, r.type AS label, target.reference_id AS other,
       (CASE WHEN r.source_version < source.said_version
             OR r.target_version < target.said_version THEN 1 ELSE 0 END) AS suspect
FROM relationships r
JOIN items source ON source.id = r.source_id JOIN items target ON target.id = r.target_id
WHERE r.source_id IN ({places})
UNION ALL
SELECT r.target_id, t.inverse, source.reference_id,
       (CASE WHEN r.source_version < source.said_version
             OR r.target_version < target.said_version THEN 1 ELSE 0 END)
FROM relationships r
JOIN relationship_types t ON t.name = r.type
JOIN items source ON source.id = r.source_id JOIN items target ON target.id = r.target_id
WHERE r.target_id IN ({places})
ORDER BY 2, 3
"""


class TracedRow(Struct, frozen=True):
    """A requirement with its ancestors."""

    id: str
    number: int
    reference_id: str
    title: str
    status: str
    epic: str
    story: str
    criteria: str | None
    verified: int


class TracedLink(Struct, frozen=True):
    """A link of a requirement, named from its side."""

    of: str
    label: str
    other: str
    suspect: int


async def count(db: Database, epic_id: str | None) -> int:
    """Return the number of requirements, in all or in an epic."""
    sql, values = (COUNT, []) if epic_id is None else (COUNT + OF_EPIC, [epic_id])
    total: int = (await db.fetch(sql, *values))[0]["total"]
    return total


async def traced(db: Database, epic_id: str | None, behind: int, limit: int) -> list[TracedRow]:
    """Return requirements after a number, by number."""
    sql = SELECT if epic_id is None else SELECT + OF_EPIC
    values: list[Any] = [behind] if epic_id is None else [epic_id, behind]
    rows = await db.fetch(
        f"{sql} AND i.number > ${len(values)} ORDER BY i.number LIMIT {limit}", *values
    )
    return [_traced(row) for row in rows]


async def links(db: Database, ids: Sequence[str]) -> list[TracedLink]:
    """Return the links of these requirements."""
    if not ids:
        return []
    sql = LINKS.format(places=rows.places(len(ids)))
    return [_link(row) for row in await db.fetch(sql, *ids)]


def _traced(row: Any) -> TracedRow:
    return TracedRow(*row)


def _link(row: Any) -> TracedLink:
    return TracedLink(*row)
