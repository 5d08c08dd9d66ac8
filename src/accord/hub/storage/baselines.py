"""Baselines: what everything said at one moment, as rows that nobody changes.

An entry holds what one thing said as JSON that the database itself makes, always in the same way,
so that entries are compared, also with what things say now, where they are.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.choices import no_such
from accord.hub.domain.folding import fold
from accord.operations.errors import NotFoundError
from accord.operations.work import Database, is_uuid
from accord.store.store import Engine, Transaction

ChangeOf: TypeAlias = Literal["added", "removed", "changed"]

OBJECT: Final[dict[Engine, str]] = {
    "sqlite": "json_object({})",
    "postgresql": "CAST(json_build_object({}) AS text)",
}
"""What makes JSON of names and values."""

ALL: Final = "SELECT id FROM items WHERE kind <> 'prompt'"
OF_EPIC: Final = """
SELECT id FROM items WHERE id = {epic} OR parent_id = {epic}
UNION
SELECT child.id FROM items story JOIN items child ON child.parent_id = story.id
WHERE story.parent_id = {epic}
UNION
SELECT steering_id FROM steering_links WHERE epic_id = {epic}
"""

SAID: Final = """
WITH inside AS ({scope})
SELECT i.id AS entity_id, i.kind, i.reference_id, i.version, {item} AS content
FROM inside JOIN items i ON i.id = inside.id
LEFT JOIN items parent ON parent.id = i.parent_id
LEFT JOIN items criteria ON criteria.id = i.criteria_id
UNION ALL
SELECT r.id, 'relationship', source.reference_id || ' ' || r.type || ' ' || target.reference_id,
       1, {link}
FROM relationships r
JOIN items source ON source.id = r.source_id
JOIN items target ON target.id = r.target_id
WHERE r.source_id IN (SELECT id FROM inside) OR r.target_id IN (SELECT id FROM inside)
UNION ALL
SELECT l.steering_id || ':' || l.epic_id, 'steering_link',
       source.reference_id || ' steers ' || target.reference_id, 1, {steering}
FROM steering_links l
JOIN items source ON source.id = l.steering_id
JOIN items target ON target.id = l.epic_id
WHERE l.epic_id IN (SELECT id FROM inside)
"""
ITEM_FIELDS: Final = """
'title', i.title, 'description', i.description, 'status', i.status, 'priority', i.priority,
'type', i.type, 'parent', parent.reference_id, 'acceptance_criteria', criteria.reference_id
"""
LINK_FIELDS: Final = "'source', source.reference_id, 'type', r.type, 'target', target.reference_id"
STEERING_FIELDS: Final = "'source', source.reference_id, 'target', target.reference_id"

KEPT: Final = """
SELECT entity_id, kind, reference_id, version, content FROM baseline_entries
WHERE baseline_id = {id}
"""
COMPARED: Final = """
WITH one AS ({one}), other AS ({other}), compared AS (
    SELECT 'changed' AS change, one.kind, one.reference_id, one.content AS before,
           other.content AS after
    FROM one JOIN other ON other.reference_id = one.reference_id
    WHERE one.content <> other.content
    UNION ALL
    SELECT 'removed', one.kind, one.reference_id, one.content, NULL
    FROM one LEFT JOIN other ON other.reference_id = one.reference_id
    WHERE other.reference_id IS NULL
    UNION ALL
    SELECT 'added', other.kind, other.reference_id, NULL, other.content
    FROM other LEFT JOIN one ON one.reference_id = other.reference_id
    WHERE one.reference_id IS NULL
)
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
SELECT kind, reference_id, version, content FROM baseline_entries
WHERE baseline_id = $1 AND (kind, length(reference_id), reference_id) > ($2, $3, $4)
ORDER BY kind, length(reference_id), reference_id LIMIT $5
"""

CURRENT: Final = "current"
"""What stands for the present in comparisons."""


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
        """What its table holds of it."""
        return {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("author", "entries")
        }


class EntryRow(Struct, frozen=True):
    """What one thing said."""

    kind: str
    reference_id: str
    version: int
    content: str


class ComparedRow(Struct, frozen=True):
    """What one thing said before and after."""

    change: ChangeOf
    kind: str
    reference_id: str
    before: str | None
    after: str | None


async def add(db: Transaction, engine: Engine, row: BaselineRow) -> int:
    """Keep what everything says now, or what is in an epic; how many entries that are."""
    await db.execute(ADD, *row.stored().values())
    said = _said(engine, row.epic_id is not None, "$2")
    values = [row.id] if row.epic_id is None else [row.id, row.epic_id]
    return await db.execute(
        "INSERT INTO baseline_entries "
        "(baseline_id, entity_id, kind, reference_id, version, content) "
        f"SELECT $1, entity_id, kind, reference_id, version, content FROM ({said}) said",
        *values,
    )


async def find(db: Database, name_or_id: str) -> BaselineRow:
    """The baseline that a name or an id means. Raises NotFoundError, which names some there are."""
    rows = await db.fetch(BY_ID, name_or_id.lower()) if is_uuid(name_or_id) else []
    rows = rows or await db.fetch(BY_KEY, fold(name_or_id))
    if not rows:
        valid = [row["name"] for row in await db.fetch(NAMES)]
        raise NotFoundError(no_such("baseline", name_or_id, valid), valid=valid)
    return _baseline(rows[0])


async def find_named(db: Database, name: str) -> BaselineRow | None:
    """The baseline whose name looks like this one."""
    rows = await db.fetch(BY_KEY, fold(name))
    return _baseline(rows[0]) if rows else None


async def newest(
    db: Database, limit: int, before: tuple[str, str] | None = None
) -> list[BaselineRow]:
    """The newest first, older than one with that time and id."""
    rows = await (db.fetch(NEWEST, limit) if before is None else db.fetch(OLDER, limit, *before))
    return [_baseline(row) for row in rows]


async def count(db: Database) -> int:
    total: int = (await db.fetch(COUNT))[0]["total"]
    return total


async def entries(
    db: Database, id: str, behind: tuple[str, int, str], limit: int
) -> list[EntryRow]:
    """What things said, by kind and number, behind one of them."""
    return [_entry(row) for row in await db.fetch(ENTRIES, id, *behind, limit)]


async def compared(
    db: Database,
    engine: Engine,
    one: BaselineRow,
    other: BaselineRow | None,
    behind: tuple[str, int, str],
    limit: int,
) -> list[ComparedRow]:
    """What differs between a baseline and another, or the present, by kind and number."""
    sql, values = _sides(engine, one, other)
    place = len(values)
    rows = await db.fetch(
        f"{sql} SELECT change, kind, reference_id, before, after FROM compared "
        f"WHERE (kind, length(reference_id), reference_id) > "
        f"(${place + 1}, ${place + 2}, ${place + 3}) "
        f"ORDER BY kind, length(reference_id), reference_id LIMIT {limit}",
        *(*values, *behind),
    )
    return [_compared(row) for row in rows]


async def compared_figures(
    db: Database, engine: Engine, one: BaselineRow, other: BaselineRow | None
) -> dict[str, int]:
    """How many things were added, removed and changed."""
    sql, values = _sides(engine, one, other)
    rows = await db.fetch(
        f"{sql} SELECT change, COUNT(*) AS number FROM compared GROUP BY change", *values
    )
    return {row["change"]: row["number"] for row in rows}


def _sides(engine: Engine, one: BaselineRow, other: BaselineRow | None) -> tuple[str, list[str]]:
    """The statement up to `compared`, and its values. The present has the scope of the baseline
    that it is compared with."""
    values = [one.id]
    if other is not None:
        values.append(other.id)
        right = KEPT.format(id="$2")
    else:
        right = _said(engine, one.epic_id is not None, "$2")
        values += [one.epic_id] if one.epic_id is not None else []
    return COMPARED.format(one=KEPT.format(id="$1"), other=right), values


def _said(engine: Engine, is_of_epic: bool, epic: str) -> str:
    json = OBJECT[engine]
    return SAID.format(
        scope=OF_EPIC.format(epic=epic) if is_of_epic else ALL,
        item=json.format(ITEM_FIELDS),
        link=json.format(LINK_FIELDS),
        steering=json.format(STEERING_FIELDS),
    )


def _baseline(row: Any) -> BaselineRow:
    return BaselineRow(*row)


def _entry(row: Any) -> EntryRow:
    return EntryRow(*row)


def _compared(row: Any) -> ComparedRow:
    return ComparedRow(*row)
