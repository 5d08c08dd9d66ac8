"""What leads from items to others and back: links, and their places in the hierarchy, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from accord.hub.storage import rows
from accord.operations.work import Database

MAX_LINES: Final = 2_000
"""The maximum number of links read for one set of items."""

LINKS: Final = """
SELECT r.source_id, r.target_id, r.type, r.id,
       (CASE WHEN r.source_version < source.said_version
             OR r.target_version < target.said_version THEN 1 ELSE 0 END) AS suspect
FROM relationships r
JOIN items source ON source.id = r.source_id JOIN items target ON target.id = r.target_id
WHERE (r.source_id IN ({places}) OR r.target_id IN ({places})){types}
ORDER BY r.created_at, r.id LIMIT {limit}
"""
PLACES: Final = """
SELECT parent_id AS above, id AS below, 'has' AS type, '' AS id, 0 AS suspect, 0 AS rank, number
FROM items WHERE id IN ({places}) AND parent_id IS NOT NULL
UNION
SELECT criteria_id, id, 'has', '', 0, 0, number
FROM items WHERE id IN ({places}) AND criteria_id IS NOT NULL
UNION
SELECT steering_id, epic_id, 'steers', '', 0, 1, 0 FROM steering_links
WHERE epic_id IN ({places}) OR steering_id IN ({places})
UNION
SELECT parent_id, id, 'has', '', 0, 2, number FROM items WHERE parent_id IN ({places})
UNION
SELECT criteria_id, id, 'has', '', 0, 2, number FROM items WHERE criteria_id IN ({places})
ORDER BY 6, 7 LIMIT {limit}
"""


class LineRow(Struct, frozen=True):
    """A link or a place in the hierarchy, from one item to another."""

    source: str
    target: str
    type: str
    id: str
    """The id of the relationship; empty for a place in the hierarchy."""
    is_suspect: bool


async def lines(
    db: Database, ids: Sequence[str], types: Sequence[str] | None, *, with_places: bool
) -> list[LineRow]:
    """Return the links from and to these items.

    Relationships come first, of `types` or all; `with_places` adds parents and children.
    """
    found: list[LineRow] = []
    for chunk in rows.chunks(ids, 200):
        places = rows.places(len(chunk))
        if types is None or types:
            wanted = "" if types is None else _of_types(len(types), len(chunk) + 1)
            sql = LINKS.format(places=places, types=wanted, limit=MAX_LINES)
            found += [_line(row) for row in await db.fetch(sql, *chunk, *(types or ()))]
        if with_places:
            sql = PLACES.format(places=places, limit=MAX_LINES)
            found += [_line(row) for row in await db.fetch(sql, *chunk)]
    return list(dict.fromkeys(found))


def _of_types(count: int, first: int) -> str:
    return f" AND r.type IN ({rows.places(count, first)})"


def _line(row: Any) -> LineRow:
    return LineRow(row[0], row[1], row[2], row[3], bool(row[4]))
