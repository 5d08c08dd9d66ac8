"""Items of all kinds as rows, with their numbers and suppressed lint rules.

Knows the tables, not the rules: `accord.hub.lifecycle` decides what may be written.

Each kind numbers its items with a counter. A number is never used again, even if its item is
deleted. The last part has the queries for the lists and notifications of MCP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from accord.hub.domain.rules import KINDS, Kind, Reference, parse_reference
from accord.hub.storage import rows
from accord.hub.storage.rows import chunks, places
from accord.operations.context import Database, is_uuid
from accord.operations.errors import NotFoundError
from accord.store.store import Engine, Row, Transaction

SELECT: Final = """
SELECT i.id, i.kind, i.number, i.reference_id, i.parent_id, i.criteria_id, i.position, i.title,
       i.description, i.status, i.priority, i.type, i.creator_id, i.assignee_id, i.name, i.content,
       i.role, i.active, i.version, i.said_version, i.created_at, i.updated_at,
       creator.username AS creator, assignee.username AS assignee,
       parent.reference_id AS parent_reference_id,
       criteria.reference_id AS criteria_reference_id,
       EXISTS (SELECT 1 FROM item_labels WHERE item_labels.item_id = i.id) AS has_labels,
       CASE i.kind WHEN 'epic' THEN i.id WHEN 'user_story' THEN i.parent_id
           ELSE parent.parent_id END AS epic_id
FROM items i
JOIN users creator ON creator.id = i.creator_id
LEFT JOIN users assignee ON assignee.id = i.assignee_id
LEFT JOIN items parent ON parent.id = i.parent_id
LEFT JOIN items criteria ON criteria.id = i.criteria_id
"""
# For PostgreSQL, where every statement is a round trip: insert and read back in one.
INSERT: Final = (
    "WITH made AS (INSERT INTO items ({names}) VALUES ({places}) RETURNING *)"
    + SELECT.replace("FROM items i\n", "FROM made i\n")
)
BY_ID: Final = SELECT + "WHERE i.id = $1"
BY_NUMBER: Final = SELECT + "WHERE i.kind = $1 AND i.number = $2"
CHILDREN: Final = SELECT + "WHERE i.parent_id = $1 ORDER BY i.kind, i.position, i.number"

LAST_CHILD: Final = "SELECT MAX(position) AS last FROM items WHERE kind = $1 AND parent_id = $2"
LAST_OF_ALL: Final = """
SELECT MAX(position) AS last FROM items WHERE kind = $1 AND parent_id IS NULL
"""
SIBLINGS: Final = """
SELECT id, position FROM items WHERE kind = $1 AND parent_id = $2 ORDER BY position, number
"""
ALL_OF_KIND: Final = """
SELECT id, position FROM items WHERE kind = $1 AND parent_id IS NULL ORDER BY position, number
"""
OTHERS_UNDER: Final = """
WHERE i.parent_id = $1 AND i.kind = $2 AND i.id <> $3 ORDER BY i.position, i.number LIMIT $4
"""
OF_EPIC: Final = """
LEFT JOIN steering_links steers ON steers.steering_id = i.id AND steers.epic_id = $1
WHERE i.id = $1 OR i.parent_id = $1 OR parent.parent_id = $1 OR steers.epic_id = $1
ORDER BY i.position, i.number
"""
STEERING: Final = """
WHERE i.id IN (SELECT steering_id FROM steering_links WHERE epic_id = $1) ORDER BY i.number
"""
STEERING_NAMES: Final = """
SELECT s.reference_id FROM steering_links l JOIN items s ON s.id = l.steering_id
WHERE l.epic_id = $1 ORDER BY s.number
"""
OPEN_BELOW: Final = """
SELECT reference_id FROM items
WHERE parent_id = $1 AND kind IN ('user_story', 'requirement')
  AND status NOT IN ('Done', 'Active', 'Obsolete', 'Cancelled')
ORDER BY number LIMIT 1000
"""
ANY: Final = "SELECT 1 FROM items LIMIT 1"
COUNT: Final = "SELECT COUNT(*) AS total FROM items"
COUNT_EPICS: Final = "SELECT COUNT(*) AS total FROM items WHERE kind = 'epic'"
COUNT_OF_CRITERIA: Final = "SELECT COUNT(*) AS total FROM items WHERE criteria_id = $1"
COUNT_BELOW: Final = """
SELECT kind, COUNT(*) AS total FROM items WHERE parent_id = $1 GROUP BY kind
"""
COUNT_ATTACHED: Final = """
SELECT 'comments' AS what, COUNT(*) AS total FROM comments WHERE target_id = $1
UNION ALL SELECT 'labels', COUNT(*) FROM item_labels WHERE item_id = $1
UNION ALL SELECT 'suppressions', COUNT(*) FROM lint_suppressions WHERE item_id = $1
"""
LABELS: Final = """
SELECT l.item_id, labels.name FROM item_labels l JOIN labels ON labels.id = l.label_id
WHERE l.item_id IN ({places}) ORDER BY labels.name_key
"""
EPICS_OF_STEERING: Final = """
SELECT l.steering_id, e.reference_id, e.id FROM steering_links l JOIN items e ON e.id = l.epic_id
WHERE l.steering_id IN ({places}) ORDER BY e.number
"""

_COMMON: Final = ("id", "kind", "number", "reference_id", "position")
_TEXT: Final = ("title", "description")
_WORK: Final = ("status", "priority", "creator_id", "assignee_id")
_TIMES: Final = ("version", "said_version", "created_at", "updated_at")

COLUMNS: Final[dict[Kind, tuple[str, ...]]] = {
    "epic": (*_COMMON, *_TEXT, *_WORK, *_TIMES),
    "user_story": (*_COMMON, "parent_id", *_TEXT, *_WORK, *_TIMES),
    "acceptance_criteria": (*_COMMON, "parent_id", "description", "creator_id", *_TIMES),
    "requirement": (*_COMMON, "parent_id", "criteria_id", "type", *_TEXT, *_WORK, *_TIMES),
    "steering_document": (*_COMMON, *_TEXT, "creator_id", *_TIMES),
    "prompt": (
        *_COMMON,
        *("name", *_TEXT, "content", "role", "active", "creator_id"),
        *_TIMES,
    ),
}
"""By kind: the columns that its items use."""


class ItemRow(Struct, frozen=True):
    """One item: its columns, and the names of the rows it refers to."""

    id: str
    kind: Kind
    number: int
    reference_id: str
    parent_id: str | None
    criteria_id: str | None
    position: float
    title: str
    description: str
    status: str
    priority: int
    type: str | None
    creator_id: str
    assignee_id: str | None
    name: str | None
    content: str
    role: str
    active: int
    version: int
    said_version: int
    created_at: str
    updated_at: str
    creator: str
    assignee: str | None
    parent_reference_id: str | None
    criteria_reference_id: str | None
    has_labels: bool
    """True if the item has at least one label."""
    epic_id: str | None
    """The epic that the item is or belongs to."""

    def stored(self) -> dict[str, Any]:
        """Return the columns that items of this kind use, as effects record them."""
        values = asdict(self)
        return {name: values[name] for name in COLUMNS[self.kind]}


async def find(db: Database, id_or_reference: str, kind: Kind | None = None) -> ItemRow:
    """Return the item with this UUID or reference id, ignoring letter case.

    Raises NotFoundError, also for an item of another kind.
    """
    found = await lookup(db, id_or_reference)
    if found is None:
        what = KINDS[kind].title.lower() if kind else "item"
        raise NotFoundError(f"there is no {what} {id_or_reference!r}")
    if kind is not None and found.kind != kind:
        raise NotFoundError(
            f"{found.reference_id} is not {_a(kind)}, it is {_a(found.kind)}", kind=found.kind
        )
    return found


async def lookup(db: Database, id_or_reference: str) -> ItemRow | None:
    """Return the item with this UUID or reference id, or None."""
    text = id_or_reference.strip()
    if is_uuid(text):
        found = await db.fetch(BY_ID, text.lower())
    else:
        reference = parse_reference(text)
        if reference is None:
            return None
        found = await db.fetch(BY_NUMBER, reference.kind, reference.number)
    return item_row(found[0]) if found else None


def stored_name(id_or_reference: str) -> str:
    """Return a UUID or reference id in its stored spelling.

    Any other text is returned in lower case.
    """
    text = id_or_reference.strip()
    reference = parse_reference(text)
    return text.lower() if reference is None else str(reference)


async def insert(db: Transaction, engine: Engine, values: Mapping[str, Any]) -> ItemRow:
    """Insert an item; `values` has its columns."""
    if engine == "sqlite":
        await rows.insert(db, "items", values)
        return await find(db, values["id"])
    statement = INSERT.format(names=", ".join(values), places=rows.places(len(values)))
    return item_row((await db.fetch(statement, *values.values()))[0])


async def select(db: Database, where: str, /, *arguments: Any) -> list[ItemRow]:
    """Return the items for which an SQL clause holds, for other modules of storage.

    The clause is never built from user input; it may include ORDER BY and LIMIT.
    """
    return [item_row(row) for row in await db.fetch(SELECT + where, *arguments)]


def item_row(row: Any) -> ItemRow:
    """Return a row of `SELECT` as an `ItemRow`."""
    return ItemRow(*row)


async def children(db: Database, parent_id: str) -> list[ItemRow]:
    """Return the children of an item by kind, in their order."""
    return [item_row(row) for row in await db.fetch(CHILDREN, parent_id)]


async def by_ids(db: Database, ids: Sequence[str]) -> dict[str, ItemRow]:
    """Return the items with these UUIDs, by UUID; unknown ones are missing."""
    found: dict[str, ItemRow] = {}
    for some in rows.chunks(ids):
        where = f"WHERE i.id IN ({rows.places(len(some))})"
        found |= {row.id: row for row in await select(db, where, *some)}
    return found


async def all_items(db: Database) -> list[ItemRow]:
    """Return all items, ordered by position and number."""
    return await select(db, "ORDER BY i.position, i.number")


async def of_epic(db: Database, epic_id: str) -> list[ItemRow]:
    """Return an epic, everything below it and its steering documents.

    The items are ordered by position and number.
    """
    return await select(db, OF_EPIC, epic_id)


async def of_criteria(db: Database, criteria_id: str, limit: int | None = None) -> list[ItemRow]:
    """Return the requirements that belong to acceptance criteria, by number."""
    most = "" if limit is None else f" LIMIT {limit}"
    return await select(db, f"WHERE i.criteria_id = $1 ORDER BY i.number{most}", criteria_id)


async def siblings(db: Database, row: ItemRow, limit: int) -> list[ItemRow]:
    """Return other items of the same kind and parent as an item, in their order."""
    return await select(db, OTHERS_UNDER, row.parent_id, row.kind, row.id, limit)


async def positions(db: Database, kind: Kind, parent_id: str | None) -> list[tuple[str, float]]:
    """Return the ids and positions of the items of a kind and parent, in their order."""
    if parent_id is None:
        found = await db.fetch(ALL_OF_KIND, kind)
    else:
        found = await db.fetch(SIBLINGS, kind, parent_id)
    return [(row["id"], row["position"]) for row in found]


async def steering_of(db: Database, epic_id: str) -> list[ItemRow]:
    """Return the steering documents of an epic, by number."""
    return await select(db, STEERING, epic_id)


async def steering_names(db: Database, epic_id: str) -> list[str]:
    """Return the reference ids of the steering documents of an epic, by number."""
    return [row["reference_id"] for row in await db.fetch(STEERING_NAMES, epic_id)]


async def open_below(db: Database, parent_id: str) -> list[str]:
    """Return reference ids of unfinished stories and requirements under an item."""
    return [row["reference_id"] for row in await db.fetch(OPEN_BELOW, parent_id)]


async def active_prompt(db: Database) -> ItemRow | None:
    """Return the active prompt, or None."""
    found = await select(db, "WHERE i.active = 1")
    return found[0] if found else None


async def prompt_named(db: Database, name: str) -> ItemRow | None:
    """Return the prompt with this name, ignoring letter case; or None."""
    found = await select(db, "WHERE lower(i.name) = $1", name.lower())
    return found[0] if found else None


async def is_empty(db: Database) -> bool:
    """Return whether there are no items at all."""
    return not await db.fetch(ANY)


async def count(db: Database) -> int:
    """Return the number of items."""
    return await rows.total(db, COUNT)


async def count_epics(db: Database) -> int:
    """Return the number of epics."""
    return await rows.total(db, COUNT_EPICS)


async def count_of_criteria(db: Database, criteria_id: str) -> int:
    """Return the number of requirements that belong to acceptance criteria."""
    return await rows.total(db, COUNT_OF_CRITERIA, criteria_id)


async def count_below(db: Database, parent_id: str) -> dict[str, int]:
    """Return the numbers of children of an item by kind.

    Kinds without children are missing.
    """
    found = {row["kind"]: row["total"] for row in await db.fetch(COUNT_BELOW, parent_id)}
    return {kind: found[kind] for kind in KINDS if kind in found}


async def count_attached(db: Database, id: str) -> dict[str, int]:
    """Return the numbers of comments, labels and suppressions of an item."""
    return {row["what"]: row["total"] for row in await db.fetch(COUNT_ATTACHED, id)}


async def last_position(db: Database, kind: Kind, parent_id: str | None) -> float:
    """Return the position of the last item of a kind under a parent; 0 without one."""
    if parent_id is None:
        found = await db.fetch(LAST_OF_ALL, kind)
    else:
        found = await db.fetch(LAST_CHILD, kind, parent_id)
    return float(found[0]["last"] or 0)


async def labels_of(db: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the label names of each item."""
    found: dict[str, list[str]] = {each: [] for each in ids}
    if ids:
        for row in await db.fetch(LABELS.format(places=rows.places(len(ids))), *ids):
            found[row["item_id"]].append(row["name"])
    return found


async def epics_of_steering(db: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return, by steering document, the reference ids of its epics."""
    found: dict[str, list[str]] = {each: [] for each in ids}
    if ids:
        for row in await db.fetch(EPICS_OF_STEERING.format(places=rows.places(len(ids))), *ids):
            found[row["steering_id"]].append(row["reference_id"])
    return found


def _a(kind: Kind) -> str:
    title = KINDS[kind].title.lower()
    article = "" if kind == "acceptance_criteria" else "an " if title[0] in "ae" else "a "
    return article + title


# One statement for everything, since each is a round trip on PostgreSQL. The UPDATE locks the
# counter until the transaction ends, so two writers never get the same number.
NEXT_NUMBER: Final = """
UPDATE counters SET last = last + 1 WHERE kind = $1
RETURNING last,
    (SELECT MAX(position) FROM items WHERE kind = $1 AND parent_id {parent}) AS position,
    (SELECT name FROM requirement_types WHERE name_key = $2) AS type,
    {found} AS parent_id
"""
NEW_PARENT: Final = "(SELECT id FROM items WHERE (id = $3 OR reference_id = $3) AND kind = $4)"
NEXT_CHILD: Final = NEXT_NUMBER.format(parent=f"= {NEW_PARENT}", found=NEW_PARENT)
NEXT_ROOT: Final = NEXT_NUMBER.format(parent="IS NULL", found="NULL")
LAST_NUMBER: Final = "SELECT last FROM counters WHERE kind = $1"
SET_LAST_NUMBER: Final = "UPDATE counters SET last = $2 WHERE kind = $1"


class NextItem(Struct, frozen=True):
    """The reserved number and position of a new item.

    A number is never used again, even if its item is deleted.
    """

    reference: Reference
    place: float
    """The position after the last sibling."""
    type: str | None
    """The requested requirement type in its stored spelling; None if it is unknown."""
    parent_id: str | None
    """The id of the requested parent; None if there is no such item."""


async def last_number(db: Database, kind: Kind) -> int:
    """Return the number that was last given to an item of a kind."""
    last: int = (await db.fetch(LAST_NUMBER, kind))[0]["last"]
    return last


async def set_last_number(db: Transaction, kind: Kind, number: int) -> None:
    """Have the next item of a kind get the number after this one."""
    await db.execute(SET_LAST_NUMBER, kind, number)


async def next_item(db: Transaction, kind: Kind, parent: str | None, type_key: str) -> NextItem:
    """Reserve number and position for a new item; look up its parent and type.

    `parent` is a UUID or reference id, `type_key` the folded name of the type.
    """
    if parent is None:
        [row] = await db.fetch(NEXT_ROOT, kind, type_key)
    else:
        name = stored_name(parent)
        [row] = await db.fetch(NEXT_CHILD, kind, type_key, name, KINDS[kind].parent)
    last, position, type, parent_id = row
    return NextItem(Reference(kind, last), float(position or 0) + 1, type, parent_id)


SUPPRESSIONS_OF_ITEM: Final = """
SELECT s.item_id, s.rule, s.reason, s.author_id, s.created_at, u.username AS author
FROM lint_suppressions s JOIN users u ON u.id = s.author_id
WHERE s.item_id = $1 ORDER BY s.rule
"""


class SuppressionRow(Struct, frozen=True):
    """A lint rule that is suppressed for an item."""

    item_id: str
    rule: str
    reason: str
    author_id: str
    created_at: str
    author: str

    def stored(self) -> dict[str, Any]:
        """Return the columns of the table of suppressions."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "author"}


async def suppressions_of_item(db: Database, item_id: str) -> dict[str, SuppressionRow]:
    """Return the suppressions of an item, by rule."""
    found = [_suppression(row) for row in await db.fetch(SUPPRESSIONS_OF_ITEM, item_id)]
    return {row.rule: row for row in found}


def _suppression(row: Any) -> SuppressionRow:
    return SuppressionRow(*row)


RESOURCES: Final = """
SELECT kind, number, reference_id, title, status, active, substr(description, 1, 120) AS summary
FROM items WHERE kind = $1 AND number > $2 ORDER BY number LIMIT $3
"""
LISTED_PROMPTS: Final = """
SELECT number, name, title, description FROM items
WHERE kind = 'prompt' AND number > $1 ORDER BY number LIMIT $2
"""
LISTED_PROMPT: Final = """
SELECT name, title, description FROM items WHERE kind = 'prompt' AND lower(name) = $1
"""
ITEM_PLACES: Final = """
SELECT i.id, i.kind, i.reference_id, i.parent_id, p.id AS p_id, p.kind AS p_kind,
       p.reference_id AS p_reference_id, p.parent_id AS p_parent_id, g.id AS g_id, g.kind AS g_kind,
       g.reference_id AS g_reference_id, g.parent_id AS g_parent_id
FROM items i LEFT JOIN items p ON p.id = i.parent_id LEFT JOIN items g ON g.id = p.parent_id
WHERE i.id IN ({ids})
"""


async def listed_resources(db: Database, kind: Kind, after: int, limit: int) -> list[Row]:
    """Return items of a kind after a number, with the beginnings of their texts."""
    return await db.fetch(RESOURCES, kind, after, limit)


async def listed_prompts(db: Database, after: int, limit: int) -> list[Row]:
    """Return the prompts after a number, in order of number."""
    return await db.fetch(LISTED_PROMPTS, after, limit)


async def listed_prompt(db: Database, name: str) -> Row | None:
    """Return the prompt with this name, ignoring letter case; or None."""
    found = await db.fetch(LISTED_PROMPT, name.lower())
    return found[0] if found else None


async def places_of_items(db: Database, ids: Sequence[str]) -> list[Row]:
    """Return the kinds and ids of items, of their parents and of their grandparents.

    The columns of parents begin with `p_`, those of grandparents with `g_`.
    """
    found: list[Row] = []
    for some in chunks(ids):
        found += await db.fetch(ITEM_PLACES.format(ids=places(len(some))), *some)
    return found
