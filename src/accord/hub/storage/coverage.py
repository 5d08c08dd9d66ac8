"""Coverage as statements: gaps, shares, the traceability matrix.

Each gap is a clause that is true for items that lack something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from accord.hub.entities import Gap
from accord.hub.storage import rows
from accord.operations.context import Database

IS_VERIFIED: Final = """(i.criteria_id IS NOT NULL OR EXISTS (
    SELECT 1 FROM relationships r WHERE r.target_id = i.id AND r.type = 'verifies'))"""
"""The SQL condition that the requirement in table alias `i` is verified.

Pages, reports and tools all use this condition."""

CLAUSES: Final[dict[Gap, str]] = {
    "epic_without_stories": """i.kind = 'epic' AND i.status <> 'Cancelled' AND NOT EXISTS (
        SELECT 1 FROM items c WHERE c.parent_id = i.id)""",
    "story_without_criteria": """i.kind = 'user_story' AND i.status <> 'Cancelled' AND NOT EXISTS (
        SELECT 1 FROM items c WHERE c.parent_id = i.id AND c.kind = 'acceptance_criteria')""",
    "story_without_requirements": """i.kind = 'user_story' AND i.status <> 'Cancelled'
        AND NOT EXISTS (
        SELECT 1 FROM items c WHERE c.parent_id = i.id AND c.kind = 'requirement')""",
    "criteria_without_requirements": """i.kind = 'acceptance_criteria'
        AND NOT EXISTS (SELECT 1 FROM items c WHERE c.criteria_id = i.id)
        AND NOT EXISTS (SELECT 1 FROM relationships r JOIN items t ON t.id = r.target_id
            WHERE r.source_id = i.id AND t.kind = 'requirement')
        AND NOT EXISTS (SELECT 1 FROM relationships r JOIN items s ON s.id = r.source_id
            WHERE r.target_id = i.id AND s.kind = 'requirement')""",
    "requirement_without_verification": f"""i.kind = 'requirement' AND i.status = 'Draft'
        AND NOT {IS_VERIFIED}""",
    "active_requirement_unverified": f"""i.kind = 'requirement' AND i.status = 'Active'
        AND NOT {IS_VERIFIED}""",
    "active_requirement_needs_obsolete": """i.kind = 'requirement' AND i.status = 'Active'
        AND i.id IN (SELECT r.source_id FROM items t JOIN relationships r ON r.target_id = t.id
            WHERE r.type IN ('depends_on', 'derives_from', 'refines')
            AND t.kind IN ('epic', 'user_story', 'requirement')
            AND t.status IN ('Obsolete', 'Cancelled'))""",
    "suspect_links": """i.said_version > 1 AND (
        EXISTS (SELECT 1 FROM relationships r
            WHERE r.source_id = i.id AND r.source_version < i.said_version)
        OR EXISTS (SELECT 1 FROM relationships r
            WHERE r.target_id = i.id AND r.target_version < i.said_version))""",
    "open_under_cancelled": """i.kind IN ('user_story', 'requirement')
        AND i.status NOT IN ('Cancelled', 'Obsolete') AND i.parent_id IN (
            SELECT p.id FROM items p
            WHERE p.kind IN ('epic', 'user_story') AND p.status = 'Cancelled')""",
    "steering_document_without_epics": """i.kind = 'steering_document' AND NOT EXISTS (
        SELECT 1 FROM steering_links l WHERE l.steering_id = i.id)""",
}
"""By gap: the SQL condition that is true for items with the gap."""

IN_EPIC: Final = """ AND i.id IN (
    SELECT id FROM items WHERE id = $1
    UNION SELECT id FROM items WHERE parent_id = $1
    UNION SELECT c.id FROM items s JOIN items c ON c.parent_id = s.id WHERE s.parent_id = $1)"""
REQUIREMENT_IN_EPIC: Final = " AND i.parent_id IN (SELECT id FROM items WHERE parent_id = $1)"

VERIFIED: Final = f"""
SELECT (CASE WHEN {IS_VERIFIED} THEN 1 ELSE 0 END) AS verified, (
    SELECT COUNT(*) FROM relationships WHERE target_id = $1 AND type = 'verifies') AS links
FROM items i WHERE i.id = $1
"""
FIGURES: Final = """
SELECT i.kind, i.status, COUNT(*) AS number FROM items i
WHERE i.kind <> 'prompt'{scope} GROUP BY i.kind, i.status
"""
SUSPECT: Final = """
SELECT COUNT(*) AS total FROM (
    SELECT r.id FROM items i JOIN relationships r ON r.source_id = i.id
    WHERE i.said_version > 1 AND r.source_version < i.said_version{scope}
    UNION
    SELECT r.id FROM items i JOIN relationships r ON r.target_id = i.id
    WHERE i.said_version > 1 AND r.target_version < i.said_version{scope}
) suspect
"""


class GapRow(Struct, frozen=True):
    """An item with a gap."""

    id: str
    kind: str
    number: int
    reference_id: str
    title: str
    description: str
    status: str


class Figure(Struct, frozen=True):
    """The number of items of one kind and status."""

    kind: str
    status: str
    number: int


async def verification(db: Database, item_id: str) -> tuple[bool, int]:
    """Return whether a requirement is verified, and how many `verifies` links it has.

    Only links to the requirement count. The item may be of another kind.
    """
    [row] = await db.fetch(VERIFIED, item_id)
    return bool(row["verified"]), row["links"]


async def count_gaps(db: Database, gap: Gap, epic_id: str | None) -> int:
    """Return the number of items with a gap."""
    where, values = _where(gap, epic_id)
    return await rows.total(db, f"SELECT COUNT(*) AS total FROM items i WHERE {where}", *values)


async def items_with_gap(
    db: Database, gap: Gap, epic_id: str | None, after: tuple[str, int], limit: int
) -> list[GapRow]:
    """Return items with a gap after a position, by kind and number."""
    where, values = _where(gap, epic_id)
    place = len(values)
    rows = await db.fetch(
        f"SELECT i.id, i.kind, i.number, i.reference_id, i.title, i.description, i.status "
        f"FROM items i WHERE {where} AND (i.kind, i.number) > (${place + 1}, ${place + 2}) "
        f"ORDER BY i.kind, i.number LIMIT {limit}",
        *(*values, *after),
    )
    return [_gap(row) for row in rows]


async def figures(db: Database, epic_id: str | None) -> list[Figure]:
    """Return the number of items by kind and status."""
    scope, values = ("", []) if epic_id is None else (IN_EPIC, [epic_id])
    return [_figure(row) for row in await db.fetch(FIGURES.format(scope=scope), *values)]


async def suspect_links(db: Database, epic_id: str | None) -> int:
    """Return the number of suspect links."""
    scope, values = ("", []) if epic_id is None else (IN_EPIC, [epic_id])
    return await rows.total(db, SUSPECT.format(scope=scope), *values)


def _where(gap: Gap, epic_id: str | None) -> tuple[str, list[Any]]:
    if epic_id is None:
        return CLAUSES[gap], []
    return CLAUSES[gap] + IN_EPIC, [epic_id]


def _gap(row: Any) -> GapRow:
    return GapRow(*row)


def _figure(row: Any) -> Figure:
    return Figure(*row)


SATISFIED: Final = """EXISTS (
    SELECT 1 FROM relationships r WHERE r.target_id = i.id AND r.type = 'satisfies')"""
COUNTED: Final = f"""
COUNT(i.id) AS requirements,
COALESCE(SUM(CASE WHEN i.status = 'Active' THEN 1 ELSE 0 END), 0) AS active,
COALESCE(SUM(CASE WHEN i.status = 'Active' AND {IS_VERIFIED} THEN 1 ELSE 0 END), 0) AS verified,
COALESCE(SUM(CASE WHEN i.status = 'Active' AND {SATISFIED} THEN 1 ELSE 0 END), 0) AS satisfied
"""
SHARES_BY_EPIC: Final = f"""
SELECT epic.number, epic.reference_id AS name, epic.title, {COUNTED}
FROM (
    SELECT id, number, reference_id, title FROM items
    WHERE kind = 'epic' AND number > $1 ORDER BY number LIMIT $2
) epic
LEFT JOIN items story ON story.parent_id = epic.id AND story.kind = 'user_story'
LEFT JOIN items i ON i.parent_id = story.id AND i.kind = 'requirement'
GROUP BY epic.number, epic.reference_id, epic.title ORDER BY epic.number
"""
SHARES_BY_TYPE: Final = f"""
SELECT 0 AS number, i.type AS name, '' AS title, {COUNTED}
FROM items i WHERE i.kind = 'requirement'{{scope}} GROUP BY i.type ORDER BY i.type
"""


class ShareRow(Struct, frozen=True):
    """The requirement counts of one epic, or of one type."""

    number: int
    name: str
    title: str
    requirements: int
    active: int
    verified: int
    satisfied: int


async def shares_by_epic(db: Database, after: int, limit: int) -> list[ShareRow]:
    """Return requirement counts by epic, in order of the epics' numbers.

    Only epics with a number above `after` are returned, at most `limit`.
    """
    return [_share(row) for row in await db.fetch(SHARES_BY_EPIC, after, limit)]


async def shares_by_type(db: Database, epic_id: str | None) -> list[ShareRow]:
    """Return requirement counts by type, in order of the type's name.

    With `epic_id`, only requirements of this epic are counted.
    """
    scope, values = ("", []) if epic_id is None else (REQUIREMENT_IN_EPIC, [epic_id])
    return [_share(row) for row in await db.fetch(SHARES_BY_TYPE.format(scope=scope), *values)]


def _share(row: Any) -> ShareRow:
    return ShareRow(*row)


COUNT_TRACED: Final = "SELECT COUNT(*) AS total FROM items i WHERE i.kind = 'requirement'"
SELECT_TRACED: Final = f"""
SELECT i.id, i.number, i.reference_id, i.title, i.status, epic.reference_id AS epic,
       story.reference_id AS story, criteria.reference_id AS criteria,
       (CASE WHEN {IS_VERIFIED} THEN 1 ELSE 0 END) AS verified
FROM items i
JOIN items story ON story.id = i.parent_id
JOIN items epic ON epic.id = story.parent_id
LEFT JOIN items criteria ON criteria.id = i.criteria_id
WHERE i.kind = 'requirement'
"""
TRACED_LINKS: Final = """
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
    """A link of a requirement, with its type as named from the requirement's side."""

    of: str
    label: str
    other: str
    suspect: int


async def count_traced(db: Database, epic_id: str | None) -> int:
    """Return the number of all requirements, or of those in an epic."""
    scope, values = ("", []) if epic_id is None else (REQUIREMENT_IN_EPIC, [epic_id])
    return await rows.total(db, COUNT_TRACED + scope, *values)


async def traced(db: Database, epic_id: str | None, after: int, limit: int) -> list[TracedRow]:
    """Return the requirements after a number, in order of number.

    With `epic_id`, only requirements of this epic are returned.
    """
    sql = SELECT_TRACED if epic_id is None else SELECT_TRACED + REQUIREMENT_IN_EPIC
    values: list[Any] = [after] if epic_id is None else [epic_id, after]
    rows = await db.fetch(
        f"{sql} AND i.number > ${len(values)} ORDER BY i.number LIMIT {limit}", *values
    )
    return [_traced(row) for row in rows]


async def traced_links(db: Database, ids: Sequence[str]) -> list[TracedLink]:
    """Return the links of these requirements."""
    if not ids:
        return []
    sql = TRACED_LINKS.format(places=rows.places(len(ids)))
    return [_link(row) for row in await db.fetch(sql, *ids)]


def _traced(row: Any) -> TracedRow:
    return TracedRow(*row)


def _link(row: Any) -> TracedLink:
    return TracedLink(*row)
