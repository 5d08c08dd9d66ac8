"""Relationships and their types as rows, neighbours, and affected items.

Knows the tables, not the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.rules import ImpactLink, ImpactStep, Kind, changed_ends, impact_steps
from accord.hub.domain.text import fold, no_such
from accord.hub.storage import rows
from accord.hub.storage.rows import cursor_values, query_hash
from accord.operations.context import Database, is_uuid
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.pages import Page, page_of

Direction: TypeAlias = Literal["both", "outgoing", "incoming"]

FROM: Final = """
FROM relationships r
JOIN relationship_types t ON t.name = r.type
JOIN items source ON source.id = r.source_id
JOIN items target ON target.id = r.target_id
JOIN users creator ON creator.id = r.creator_id
LEFT JOIN users confirmer ON confirmer.id = r.confirmed_by
"""
SELECT: Final = f"""
SELECT r.id, r.source_id, r.target_id, r.type, r.creator_id, r.created_at, r.source_version,
       r.target_version, r.confirmed_by, r.confirmed_at, r.confirmed_reason,
       t.inverse, creator.username AS creator, confirmer.username AS confirmer,
       source.kind AS source_kind, source.reference_id AS source_reference_id,
       source.title AS source_title, source.description AS source_description,
       source.said_version AS source_said, source.version AS source_now,
       source.status AS source_status,
       target.kind AS target_kind, target.reference_id AS target_reference_id,
       target.title AS target_title, target.description AS target_description,
       target.said_version AS target_said, target.version AS target_now,
       target.status AS target_status
{FROM}
"""
BY_ID: Final = SELECT + "WHERE r.id = $1"
OF_ITEM: Final = SELECT + "WHERE r.source_id = $1 OR r.target_id = $1 ORDER BY r.created_at, r.id"
BETWEEN: Final = SELECT + "WHERE r.source_id = $1 AND r.target_id = $2 AND r.type = $3"
COUNT: Final = """
SELECT COUNT(*) AS total FROM relationships r JOIN relationship_types t ON t.name = r.type
"""
SUSPECT: Final = """r.id IN (
    SELECT l.id FROM items i JOIN relationships l ON l.source_id = i.id
    WHERE i.said_version > 1 AND l.source_version < i.said_version
    UNION
    SELECT l.id FROM items i JOIN relationships l ON l.target_id = i.id
    WHERE i.said_version > 1 AND l.target_version < i.said_version
)"""

REACHED: Final = """
WITH RECURSIVE reached (id) AS (
    SELECT CAST($1 AS text)
    UNION
    SELECT r.target_id FROM reached JOIN relationships r ON r.source_id = reached.id
    WHERE r.type = $2
)
SELECT source.reference_id AS source, target.reference_id AS target
FROM reached
JOIN relationships r ON r.source_id = reached.id AND r.type = $2
JOIN items source ON source.id = r.source_id
JOIN items target ON target.id = r.target_id
"""
NAMED: Final = """
SELECT s.reference_id AS source, r.type, t.reference_id AS target FROM relationships r
JOIN items s ON s.id = r.source_id JOIN items t ON t.id = r.target_id
WHERE r.source_id = $1 OR r.target_id = $1 ORDER BY s.number, t.number, r.type
"""
NAMED_STEERING: Final = """
SELECT s.reference_id AS source, 'steers' AS type, e.reference_id AS target FROM steering_links l
JOIN items s ON s.id = l.steering_id JOIN items e ON e.id = l.epic_id
WHERE l.steering_id = $1 OR l.epic_id = $1 ORDER BY s.number, e.number
"""
REMEMBERED: Final = """
SELECT COUNT(*) AS total FROM relationships
WHERE (source_id = $1 AND source_version >= $2) OR (target_id = $1 AND target_version >= $2)
"""
TYPES: Final = (
    "SELECT name, inverse, is_symmetric, is_acyclic FROM relationship_types ORDER BY name"
)

COLUMNS: Final = (
    *("id", "source_id", "target_id", "type", "creator_id", "created_at", "source_version"),
    *("target_version", "confirmed_by", "confirmed_at", "confirmed_reason"),
)


class LinkRow(Struct, frozen=True):
    """One relationship: its columns, its type, and its two ends."""

    id: str
    source_id: str
    target_id: str
    type: str
    creator_id: str
    created_at: str
    source_version: int
    target_version: int
    confirmed_by: str | None
    confirmed_at: str | None
    confirmed_reason: str
    inverse: str
    creator: str
    confirmer: str | None
    source_kind: Kind
    source_reference_id: str
    source_title: str
    source_description: str
    source_said: int
    source_now: int
    source_status: str
    target_kind: Kind
    target_reference_id: str
    target_title: str
    target_description: str
    target_said: int
    target_now: int
    target_status: str

    @property
    def reference(self) -> str:
        """The name of the link as people write it: source, type and target."""
        return f"{self.source_reference_id} {self.type} {self.target_reference_id}"

    @property
    def changed(self) -> tuple[str, ...]:
        """The reference ids of the ends that make the link suspect."""
        ends = changed_ends(
            (self.source_version, self.target_version), (self.source_said, self.target_said)
        )
        names = (self.source_reference_id, self.target_reference_id)
        return tuple(name for name, is_changed in zip(names, ends, strict=True) if is_changed)

    def stored(self) -> dict[str, Any]:
        """Return the columns of the relationships table, as effects record them."""
        return {name: getattr(self, name) for name in COLUMNS}


class TypeRow(Struct, frozen=True):
    """One relationship type."""

    name: str
    inverse: str
    is_symmetric: bool
    is_acyclic: bool

    def stored(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inverse": self.inverse,
            "is_symmetric": int(self.is_symmetric),
            "is_acyclic": int(self.is_acyclic),
        }


class LinkFilter(Struct, frozen=True, kw_only=True):
    """A query for relationships."""

    item_id: str | None = None
    direction: Direction = "both"
    type: str | None = None
    suspect: bool | None = None


async def find(db: Database, id: str) -> LinkRow:
    """Return the relationship with this id.

    Raises NotFoundError if there is none.
    """
    rows = await db.fetch(BY_ID, id.lower()) if is_uuid(id) else []
    if not rows:
        raise NotFoundError(f"there is no relationship {id!r}")
    return _link(rows[0])


async def between(db: Database, source_id: str, target_id: str, type: TypeRow) -> LinkRow | None:
    """Return the relationship of this type between two items.

    A symmetric one matches in both directions.
    """
    rows = await db.fetch(BETWEEN, source_id, target_id, type.name)
    if not rows and type.is_symmetric:
        rows = await db.fetch(BETWEEN, target_id, source_id, type.name)
    return _link(rows[0]) if rows else None


async def of_item(db: Database, item_id: str) -> list[LinkRow]:
    """Return all relationships from and to an item."""
    return [_link(row) for row in await db.fetch(OF_ITEM, item_id)]


async def all_links(db: Database) -> list[LinkRow]:
    """Return all relationships."""
    return [_link(row) for row in await db.fetch(SELECT)]


async def named_links(db: Database, item_id: str) -> list[str]:
    """Return the names of an item's relationships and steering links.

    A name has source, type and target.
    """
    return [
        f"{link['source']} {link['type']} {link['target']}"
        for statement in (NAMED, NAMED_STEERING)
        for link in await db.fetch(statement, item_id)
    ]


async def is_confirmed(db: Database, item_id: str, version: int) -> bool:
    """Return whether a link was made or confirmed for a version of this item.

    A link that was made or confirmed for a later version of the item counts, too.
    """
    return bool(await rows.total(db, REMEMBERED, item_id, version))


async def list_links(
    db: Database, link_filter: LinkFilter, *, limit: int, cursor: str | None
) -> Page[LinkRow]:
    """Return one page of the relationships that match a filter, oldest first.

    Raises InvalidError for a cursor of another list.
    """
    clauses, values = _clauses(link_filter)
    total = await rows.total(db, f"{COUNT} WHERE {' AND '.join(clauses)}", *values)
    name = query_hash("relationships", link_filter)
    if cursor is not None:
        values += cursor_values(cursor, name, str, str)
        clauses.append(f"(r.created_at, r.id) > (${len(values) - 1}, ${len(values)})")
    found = await db.fetch(
        f"{SELECT} WHERE {' AND '.join(clauses)} ORDER BY r.created_at, r.id LIMIT {limit + 1}",
        *values,
    )
    return page_of(
        [_link(row) for row in found],
        limit=limit,
        total=total,
        key=lambda row: (name, row.created_at, row.id),
    )


async def reached_edges(db: Database, item_id: str, type: str) -> list[tuple[str, str]]:
    """Return all links that are reached from an item by following links of a type.

    Links are followed from source to target. Each link is returned as the reference ids of its
    source and its target.
    """
    return [(row["source"], row["target"]) for row in await db.fetch(REACHED, item_id, type)]


async def types(db: Database) -> list[TypeRow]:
    """Return all types, by name."""
    return [
        TypeRow(row["name"], row["inverse"], bool(row["is_symmetric"]), bool(row["is_acyclic"]))
        for row in await db.fetch(TYPES)
    ]


async def find_type(db: Database, name: str, field: str = "type") -> TypeRow:
    """Return the relationship type with this name in any spelling.

    Raises InvalidError, with the valid names, if there is none.
    """
    return chosen_type(await types(db), name, field)


def chosen_type(known: Sequence[TypeRow], name: str, field: str) -> TypeRow:
    """Return the relationship type of `known` with this name in any spelling.

    Raises InvalidError, with the valid names, if there is none.
    """
    key = type_key(name)
    for each in known:
        if each.name == key:
            return each
    valid = [each.name for each in known]
    raise InvalidError(field, no_such("relationship type", name, valid), valid=valid)


def type_key(name: str) -> str:
    """Return the canonical name of a type: `depends_on` for `Depends on`."""
    return fold(name).replace(" ", "_").replace("-", "_")


def _clauses(link_filter: LinkFilter) -> tuple[list[str], list[Any]]:
    clauses, values = ["1 = 1"], list[Any]()
    if link_filter.item_id is not None:
        values.append(link_filter.item_id)
        # A link of a symmetric type counts in both directions.
        clauses.append(
            {
                "both": "(r.source_id = $1 OR r.target_id = $1)",
                "outgoing": "(r.source_id = $1 OR (r.target_id = $1 AND t.is_symmetric = 1))",
                "incoming": "(r.target_id = $1 OR (r.source_id = $1 AND t.is_symmetric = 1))",
            }[link_filter.direction]
        )
    if link_filter.type is not None:
        values.append(link_filter.type)
        clauses.append(f"r.type = ${len(values)}")
    if link_filter.suspect is not None:
        clauses.append(SUSPECT if link_filter.suspect else f"NOT {SUSPECT}")
    return clauses, values


def _link(row: Any) -> LinkRow:
    return LinkRow(*row)


MAX_NEIGHBOUR_LINKS: Final = 2_000
"""The maximum number of links read for one set of items."""

NEIGHBOUR_LINKS: Final = """
SELECT r.source_id, r.target_id, r.type, r.id,
       (CASE WHEN r.source_version < source.said_version
             OR r.target_version < target.said_version THEN 1 ELSE 0 END) AS suspect
FROM relationships r
JOIN items source ON source.id = r.source_id JOIN items target ON target.id = r.target_id
WHERE (r.source_id IN ({places}) OR r.target_id IN ({places})){types}
ORDER BY r.created_at, r.id LIMIT {limit}
"""
NEIGHBOUR_PLACES: Final = """
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


class NeighbourRow(Struct, frozen=True):
    """A link or a place in the hierarchy, from one item to another."""

    source: str
    target: str
    type: str
    id: str
    """The id of the relationship; empty for a place in the hierarchy."""
    is_suspect: bool


async def neighbour_links(
    db: Database, ids: Sequence[str], types: Sequence[str] | None, *, with_places: bool
) -> list[NeighbourRow]:
    """Return the links from and to these items.

    Relationships come first: all if `types` is None, else only relationships of these types.
    `with_places` adds links that stand for places in the hierarchy.
    """
    found: list[NeighbourRow] = []
    for chunk in rows.chunks(ids, 200):
        places = rows.places(len(chunk))
        if types is None or types:
            condition = "" if types is None else _of_types(len(types), len(chunk) + 1)
            sql = NEIGHBOUR_LINKS.format(places=places, types=condition, limit=MAX_NEIGHBOUR_LINKS)
            found += [_neighbour(row) for row in await db.fetch(sql, *chunk, *(types or ()))]
        if with_places:
            sql = NEIGHBOUR_PLACES.format(places=places, limit=MAX_NEIGHBOUR_LINKS)
            found += [_neighbour(row) for row in await db.fetch(sql, *chunk)]
    return list(dict.fromkeys(found))


def _of_types(count: int, first: int) -> str:
    return f" AND r.type IN ({rows.places(count, first)})"


def _neighbour(row: Any) -> NeighbourRow:
    return NeighbourRow(row[0], row[1], row[2], row[3], bool(row[4]))


AFFECTED_LINKS: Final = """
SELECT r.source_id, r.target_id, r.type, t.inverse, t.is_symmetric
FROM relationships r JOIN relationship_types t ON t.name = r.type
WHERE r.source_id IN ({places}) OR r.target_id IN ({places})
ORDER BY r.created_at, r.id
"""
AFFECTED_BELOW: Final = """
SELECT parent_id AS above, id AS below, 'has' AS label, kind, position, number FROM items
WHERE parent_id IN ({places})
UNION ALL
SELECT criteria_id, id, 'has', kind, position, number FROM items WHERE criteria_id IN ({places})
UNION ALL
SELECT l.steering_id, l.epic_id, 'steers', e.kind, e.position, e.number
FROM steering_links l JOIN items e ON e.id = l.epic_id WHERE l.steering_id IN ({places})
ORDER BY 4, 5, 6
"""


async def impact_steps_from(
    db: Database, ids: Sequence[str], types: frozenset[str] | None
) -> list[ImpactStep]:
    """Return all steps from items to the items they affect.

    Steps follow links, only those of `types` unless it is None, and the hierarchy downwards.
    """
    found: list[ImpactStep] = []
    for chunk in rows.chunks(ids):
        places = rows.places(len(chunk))
        starts = set(chunk)
        found += [
            ImpactStep(row["above"], row["below"], row["label"])
            for row in await db.fetch(AFFECTED_BELOW.format(places=places), *chunk)
        ]
        for row in await db.fetch(AFFECTED_LINKS.format(places=places), *chunk):
            if types is not None and row["type"] not in types:
                continue
            link = ImpactLink(
                row["source_id"],
                row["target_id"],
                row["type"],
                row["inverse"],
                bool(row["is_symmetric"]),
            )
            found += [step for step in impact_steps(link) if step.start in starts]
    return found
