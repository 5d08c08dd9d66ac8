"""Baselines: snapshots of everything at one moment, as immutable rows.

An entry holds the content of one item or link as JSON. The database itself makes the JSON, always
in the same way, so it can compare entries with each other and with the current content.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.text import fold, no_such
from accord.hub.storage.rows import total
from accord.operations.context import Database, is_uuid
from accord.operations.errors import NotFoundError
from accord.store.store import Engine, Transaction

ChangeOf: TypeAlias = Literal["added", "removed", "changed"]

OBJECT: Final[dict[Engine, str]] = {
    "sqlite": "json_object({})",
    "postgresql": "CAST(json_build_object({}) AS text)",
}
"""The SQL expression that makes a JSON object of names and values, by database."""

ALL: Final = "SELECT id FROM items WHERE kind <> 'prompt'"
OF_EPIC: Final = """
SELECT id FROM items WHERE id = $2 OR parent_id = $2
UNION
SELECT child.id FROM items story JOIN items child ON child.parent_id = story.id
WHERE story.parent_id = $2
UNION
SELECT steering_id FROM steering_links WHERE epic_id = $2
"""

CURRENT_CONTENT: Final = """
WITH inside AS ({scope})
SELECT i.id AS entity_id, i.kind, i.reference_id, i.version, i.number, {item} AS content
FROM inside JOIN items i ON i.id = inside.id
LEFT JOIN items parent ON parent.id = i.parent_id
LEFT JOIN items criteria ON criteria.id = i.criteria_id
UNION ALL
SELECT r.id, 'relationship', source.reference_id || ' ' || r.type || ' ' || target.reference_id,
       1, source.number, {link}
FROM relationships r
JOIN items source ON source.id = r.source_id
JOIN items target ON target.id = r.target_id
{linked}
UNION ALL
SELECT l.steering_id || ':' || l.epic_id, 'steering_link',
       source.reference_id || ' steers ' || target.reference_id, 1, source.number, {steering}
FROM steering_links l
JOIN items source ON source.id = l.steering_id
JOIN items target ON target.id = l.epic_id
WHERE l.epic_id IN (SELECT id FROM inside)
"""
LINKED: Final = """
WHERE r.source_id IN (SELECT id FROM inside) OR r.target_id IN (SELECT id FROM inside)
"""
ITEM_FIELDS: Final = """
'title', i.title, 'description', i.description, 'status', i.status, 'priority', i.priority,
'type', i.type, 'parent', parent.reference_id, 'acceptance_criteria', criteria.reference_id
"""
LINK_FIELDS: Final = "'source', source.reference_id, 'type', r.type, 'target', target.reference_id"
STEERING_FIELDS: Final = "'source', source.reference_id, 'target', target.reference_id"

ADD_ENTRIES: Final = """
INSERT INTO baseline_entries
    (baseline_id, place, entity_id, kind, reference_id, version, content)
SELECT $1, ROW_NUMBER() OVER (ORDER BY kind, number, reference_id), entity_id, kind, reference_id,
       version, content
FROM ({said}) said
"""
STORED_CONTENT: Final = """
SELECT kind, reference_id, content FROM baseline_entries WHERE baseline_id = {id}
"""
COMPARED: Final = """
WITH sides AS (
    SELECT kind, reference_id, content AS before, NULL AS after FROM ({one}) one
    UNION ALL
    SELECT kind, reference_id, NULL, content FROM ({other}) other
), compared AS (
    SELECT kind, reference_id, MAX(before) AS before, MAX(after) AS after
    FROM sides GROUP BY kind, reference_id
    HAVING COALESCE(MAX(before), '') <> COALESCE(MAX(after), '')
)
"""
"""The SQL that defines `compared`, the entries that differ between two sides.

A side is a baseline, or the current content. Each side is read once, whatever plan the database
chooses. MAX picks the only value, since a side has a key at most once."""
PAGE: Final = """
SELECT figures.total, figures.before_total, figures.after_total,
       page.kind, page.reference_id, page.before, page.after
FROM (
    SELECT COUNT(*) AS total, COUNT(before) AS before_total, COUNT(after) AS after_total
    FROM compared
) figures LEFT JOIN (
    SELECT kind, reference_id, before, after FROM compared
    WHERE (kind, length(reference_id), reference_id) > ({kind}, {length}, {reference_id})
    ORDER BY kind, length(reference_id), reference_id LIMIT {limit}
) page ON 1 = 1
ORDER BY page.kind, length(page.reference_id), page.reference_id
"""

ADD: Final = """
INSERT INTO baselines (id, name, name_key, description, author_id, epic_id, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
SELECT: Final = """
SELECT b.id, b.name, b.name_key, b.description, b.author_id, b.epic_id, b.created_at,
       author.username AS author,
       (SELECT COUNT(*) FROM baseline_entries WHERE baseline_id = b.id) AS entries
FROM baselines b JOIN users author ON author.id = b.author_id
"""
BY_ID: Final = SELECT + "WHERE b.id = $1"
BY_KEY: Final = SELECT + "WHERE b.name_key = $1"
NEWEST: Final = SELECT + "ORDER BY b.created_at DESC, b.id DESC LIMIT $1"
OLDER: Final = (
    SELECT + "WHERE (b.created_at, b.id) < ($2, $3) ORDER BY b.created_at DESC, b.id DESC LIMIT $1"
)
COUNT: Final = "SELECT COUNT(*) AS total FROM baselines"
NAMES: Final = "SELECT name FROM baselines ORDER BY created_at DESC LIMIT 30"
ENTRIES: Final = """
SELECT place, kind, reference_id, version, content FROM baseline_entries
WHERE baseline_id = $1 AND place > $2 ORDER BY place LIMIT $3
"""
ENTRY: Final = """
SELECT place, kind, reference_id, version, content FROM baseline_entries
WHERE baseline_id = $1 AND reference_id = $2 ORDER BY place LIMIT 1
"""

NEWEST_WITH: Final = """
SELECT b.name, e.version FROM baseline_entries e JOIN baselines b ON b.id = e.baseline_id
WHERE e.entity_id = $1 ORDER BY b.created_at DESC, b.id DESC LIMIT 1
"""

CURRENT: Final = "current"
"""The name for the current content in comparisons."""


class BaselineRow(Struct, frozen=True):
    """One baseline."""

    id: str
    name: str
    name_key: str
    description: str
    author_id: str
    epic_id: str | None
    created_at: str
    author: str
    entries: int

    def stored(self) -> dict[str, Any]:
        """Return the values to store in the baselines table, by column."""
        return {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("author", "entries")
        }


class EntryRow(Struct, frozen=True):
    """The content of one item or link in a baseline."""

    place: int
    kind: str
    reference_id: str
    version: int
    content: str


class ComparedRow(Struct, frozen=True):
    """The content of one item or link on both sides of a comparison."""

    kind: str
    reference_id: str
    before: str | None
    after: str | None

    @property
    def change(self) -> ChangeOf:
        """The change from the first side to the second."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


class ComparedRows(Struct, frozen=True, kw_only=True):
    """A page of differences, with the total numbers of changes."""

    rows: list[ComparedRow]
    added: int
    removed: int
    changed: int


async def add(db: Transaction, engine: Engine, row: BaselineRow) -> int:
    """Snapshot all current content, or that of an epic; return the number of entries."""
    await db.execute(ADD, *row.stored().values())
    values = [row.id] if row.epic_id is None else [row.id, row.epic_id]
    return await db.execute(
        ADD_ENTRIES.format(said=_current_content(engine, row.epic_id is not None)), *values
    )


async def find(db: Database, name_or_id: str) -> BaselineRow:
    """Return the baseline with this name or id.

    Raises NotFoundError, with names that are valid, if there is none.
    """
    rows = await db.fetch(BY_ID, name_or_id.lower()) if is_uuid(name_or_id) else []
    rows = rows or await db.fetch(BY_KEY, fold(name_or_id))
    if not rows:
        valid = [row["name"] for row in await db.fetch(NAMES)]
        raise NotFoundError(no_such("baseline", name_or_id, valid), valid=valid)
    return _baseline(rows[0])


async def find_named(db: Database, name: str) -> BaselineRow | None:
    """Return the baseline with this name, ignoring letter case and spaces; or None."""
    rows = await db.fetch(BY_KEY, fold(name))
    return _baseline(rows[0]) if rows else None


async def newest(
    db: Database, limit: int, before: tuple[str, str] | None = None
) -> list[BaselineRow]:
    """Return baselines, newest first, older than the given time and id."""
    rows = await (db.fetch(NEWEST, limit) if before is None else db.fetch(OLDER, limit, *before))
    return [_baseline(row) for row in rows]


async def count(db: Database) -> int:
    """Return the number of baselines."""
    return await total(db, COUNT)


async def entries(db: Database, id: str, after: int, limit: int) -> list[EntryRow]:
    """Return entries of a baseline after a place, by kind and number."""
    return [_entry(row) for row in await db.fetch(ENTRIES, id, after, limit)]


async def entry(db: Database, baseline: BaselineRow, reference_id: str) -> EntryRow:
    """Return the entry of one item in a baseline.

    Raises NotFoundError if the baseline does not have the item.
    """
    found = await db.fetch(ENTRY, baseline.id, reference_id)
    if not found:
        raise NotFoundError(f"{reference_id} is not in the baseline {baseline.name!r}")
    return _entry(found[0])


async def newest_with(db: Database, item_id: str) -> tuple[str, int] | None:
    """Return the name of the newest baseline that has an item, and the version there."""
    found = await db.fetch(NEWEST_WITH, item_id)
    return (found[0]["name"], found[0]["version"]) if found else None


async def compared(
    db: Database,
    engine: Engine,
    one: BaselineRow,
    other: BaselineRow | None,
    behind: tuple[str, int, str],
    limit: int,
) -> ComparedRows:
    """Return differences between a baseline and another, or the current content.

    The differences are sorted by kind and reference id. At most `limit` differences after the
    position `behind` are returned. Without `other`, the current content is compared.
    """
    sql, values = _sides(engine, one, other)
    kind, length, reference_id = (f"${len(values) + place}" for place in (1, 2, 3))
    page = PAGE.format(kind=kind, length=length, reference_id=reference_id, limit=limit)
    found = await db.fetch(sql + page, *values, *behind)
    both, before, after = (found[0][place] for place in range(3))
    return ComparedRows(
        rows=[_compared(row) for row in found if row["kind"] is not None],
        added=both - before,
        removed=both - after,
        changed=before + after - both,
    )


def _sides(engine: Engine, one: BaselineRow, other: BaselineRow | None) -> tuple[str, list[str]]:
    """Return the statement that defines `compared`, and its values.

    If a baseline of one epic is compared with the current content, only the current content of this
    epic is read.
    """
    values = [one.id]
    if other is not None:
        values.append(other.id)
        right = STORED_CONTENT.format(id="$2")
    else:
        right = _current_content(engine, one.epic_id is not None)
        values += [one.epic_id] if one.epic_id is not None else []
    return COMPARED.format(one=STORED_CONTENT.format(id="$1"), other=right), values


def _current_content(engine: Engine, is_of_epic: bool) -> str:
    """Return the statement for all current content, or that of the epic in `$2`."""
    json = OBJECT[engine]
    return CURRENT_CONTENT.format(
        scope=OF_EPIC if is_of_epic else ALL,
        linked=LINKED if is_of_epic else "",
        item=json.format(ITEM_FIELDS),
        link=json.format(LINK_FIELDS),
        steering=json.format(STEERING_FIELDS),
    )


def _baseline(row: Any) -> BaselineRow:
    return BaselineRow(*row)


def _entry(row: Any) -> EntryRow:
    return EntryRow(*row)


def _compared(row: Any) -> ComparedRow:
    return ComparedRow(row["kind"], row["reference_id"], row["before"], row["after"])
