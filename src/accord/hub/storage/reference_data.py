"""Reference data as rows: labels, requirement types and people.

`accord.operations.auth` owns the table of users; here it is only read.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.rules import Kind
from accord.hub.domain.text import fold, no_such
from accord.hub.storage.rows import total
from accord.operations.auth.users import username_key
from accord.operations.context import Database, is_uuid
from accord.operations.errors import (
    InvalidError,
    NotFoundError,
)

SELECT_LABELS: Final = """
SELECT l.id, l.name, l.name_key, l.colour, l.created_at,
       (SELECT COUNT(*) FROM item_labels WHERE label_id = l.id) AS used
FROM labels l
"""
ALL_LABELS: Final = SELECT_LABELS + "WHERE l.name_key > $1 ORDER BY l.name_key LIMIT $2"
LABEL_BY_ID: Final = SELECT_LABELS + "WHERE l.id = $1"
LABEL_BY_KEY: Final = SELECT_LABELS + "WHERE l.name_key = $1"
COUNT_LABELS: Final = "SELECT COUNT(*) AS total FROM labels"
ALL_LABEL_NAMES: Final = "SELECT id, name, name_key, colour FROM labels ORDER BY name_key"
LABEL_NAMES: Final = "SELECT name FROM labels ORDER BY name_key LIMIT 200"
HAS_LABEL: Final = "SELECT 1 FROM item_labels WHERE item_id = $1 AND label_id = $2"
LABELLED_ITEMS: Final = """
SELECT i.reference_id FROM item_labels l JOIN items i ON i.id = l.item_id
WHERE l.label_id = $1 ORDER BY i.kind, i.number LIMIT $2
"""


class LabelRow(Struct, frozen=True):
    """One label."""

    id: str
    name: str
    name_key: str
    colour: str
    created_at: str
    used: int

    def stored(self) -> dict[str, Any]:
        """Return the columns of the table of labels."""
        return {
            "id": self.id,
            "name": self.name,
            "name_key": self.name_key,
            "colour": self.colour,
            "created_at": self.created_at,
        }


class LabelName(Struct, frozen=True):
    """One label, without the number of items that have it."""

    id: str
    name: str
    name_key: str
    colour: str


async def find_label(db: Database, name_or_id: str) -> LabelRow:
    """Return the label with this name or id.

    Raises NotFoundError, with names that are valid, if there is none.
    """
    rows = await db.fetch(LABEL_BY_ID, name_or_id.lower()) if is_uuid(name_or_id) else []
    rows = rows or await db.fetch(LABEL_BY_KEY, fold(name_or_id))
    if not rows:
        valid = [row["name"] for row in await db.fetch(LABEL_NAMES)]
        raise NotFoundError(no_such("label", name_or_id, valid), valid=valid[:30])
    return _label(rows[0])


async def find_label_named(db: Database, name: str) -> LabelRow | None:
    """Return the label with this name, ignoring letter case and spaces; or None."""
    rows = await db.fetch(LABEL_BY_KEY, fold(name))
    return _label(rows[0]) if rows else None


async def labels_after(db: Database, key: str, limit: int) -> list[LabelRow]:
    """Return the labels after a folded name, in order of name."""
    return [_label(row) for row in await db.fetch(ALL_LABELS, key, limit)]


async def label_names(db: Database) -> list[LabelName]:
    """Return all labels, by name."""
    return [LabelName(*row) for row in await db.fetch(ALL_LABEL_NAMES)]


async def count_labels(db: Database) -> int:
    """Return the number of labels."""
    return await total(db, COUNT_LABELS)


async def has_label(db: Database, item_id: str, label_id: str) -> bool:
    """Return whether an item has a label."""
    return bool(await db.fetch(HAS_LABEL, item_id, label_id))


async def some_labelled_items(db: Database, label_id: str, limit: int) -> list[str]:
    """Return reference ids of items with a label."""
    return [row["reference_id"] for row in await db.fetch(LABELLED_ITEMS, label_id, limit)]


def _label(row: Any) -> LabelRow:
    return LabelRow(*row)


REQUIREMENT_TYPES: Final = """
SELECT name, name_key, description, created_at FROM requirement_types ORDER BY name_key
"""
REQUIREMENT_TYPE_NAMES: Final = "SELECT name, name_key FROM requirement_types ORDER BY name_key"
COUNT_REQUIREMENTS_OF_TYPE: Final = "SELECT COUNT(*) AS total FROM items WHERE type = $1"
COUNT_RELATIONSHIPS_OF_TYPE: Final = "SELECT COUNT(*) AS total FROM relationships WHERE type = $1"


class RequirementTypeRow(Struct, frozen=True):
    """One requirement type."""

    name: str
    name_key: str
    description: str
    created_at: str

    def stored(self) -> dict[str, Any]:
        """Return the columns of the table of requirement types."""
        return {
            "name": self.name,
            "name_key": self.name_key,
            "description": self.description,
            "created_at": self.created_at,
        }


async def requirement_types(db: Database) -> list[RequirementTypeRow]:
    """Return all requirement types, by name."""
    return [_type(row) for row in await db.fetch(REQUIREMENT_TYPES)]


async def requirement_type_names(db: Database) -> dict[str, str]:
    """Return the names of all requirement types by their keys, in order."""
    return {row["name_key"]: row["name"] for row in await db.fetch(REQUIREMENT_TYPE_NAMES)}


async def find_requirement_type(db: Database, name: str) -> str:
    """Return the name of a requirement type, given in any letter case.

    Raises InvalidError, with the valid names, if there is no such type.
    """
    known = await requirement_type_names(db)
    if fold(name) not in known:
        valid = list(known.values())
        raise InvalidError("type", no_such("requirement type", name, valid), valid=valid)
    return known[fold(name)]


async def count_requirements_of_type(db: Database, name: str) -> int:
    """Return the number of requirements with this type."""
    return await total(db, COUNT_REQUIREMENTS_OF_TYPE, name)


async def count_relationships_of_type(db: Database, name: str) -> int:
    """Return the number of relationships with this type."""
    return await total(db, COUNT_RELATIONSHIPS_OF_TYPE, name)


def _type(row: Any) -> RequirementTypeRow:
    return RequirementTypeRow(*row)


MAX_NAMED: Final = 20
"""The maximum number of valid usernames that an error names."""

PERSON_BY_ID: Final = "SELECT id, username, active FROM users WHERE id = $1"
PERSON_BY_NAME: Final = "SELECT id, username, active FROM users WHERE username_key = $1"
ACTIVE_PEOPLE: Final = """
SELECT username, username_key FROM users WHERE active = 1 AND username_key > $1
ORDER BY username_key LIMIT $2
"""
ASSIGNED_PEOPLE: Final = """
SELECT id FROM users WHERE EXISTS (SELECT 1 FROM items WHERE assignee_id = users.id) ORDER BY id
"""
COUNT_ACTIVE_PEOPLE: Final = "SELECT COUNT(*) AS total FROM users WHERE active = 1"


class Person(Struct, frozen=True):
    """A person with an account."""

    id: str
    username: str


async def find_person(
    db: Database, name: str, field: str, *, also_inactive: bool = False
) -> Person:
    """Return the person with this username or id.

    Raises InvalidError, with names that are valid, if there is none, or if the account is inactive
    and `also_inactive` is false.
    """
    by_id = is_uuid(name)
    rows = await db.fetch(
        PERSON_BY_ID if by_id else PERSON_BY_NAME, name.lower() if by_id else username_key(name)
    )
    if rows and (rows[0]["active"] or also_inactive):
        return Person(rows[0]["id"], rows[0]["username"])
    valid = await active_people(db, "", MAX_NAMED)
    raise InvalidError(
        field, f"there is no active user {name!r}; there are: {', '.join(valid)}", valid=valid
    )


async def active_people(db: Database, after: str, limit: int) -> list[str]:
    """Return usernames of active people, in order.

    `after` is a folded username: only people after this name are returned.
    """
    return [row["username"] for row in await db.fetch(ACTIVE_PEOPLE, after, limit)]


async def assigned_people(db: Database) -> list[str]:
    """Return the ids of the people that items are assigned to."""
    return [row["id"] for row in await db.fetch(ASSIGNED_PEOPLE)]


async def count_active_people(db: Database) -> int:
    """Return the number of active people."""
    return await total(db, COUNT_ACTIVE_PEOPLE)


NamedEntity: TypeAlias = Literal["prompt", "person", "label"]
COMPLETED_REFERENCES: Final = """
SELECT reference_id AS value FROM items WHERE kind = $1
AND (reference_id LIKE $2 ESCAPE '!' OR lower(title) LIKE $3 ESCAPE '!') ORDER BY number LIMIT $4
"""
COMPLETED_IDS: Final = (
    "SELECT id AS value FROM items WHERE kind = $1 AND id LIKE $2 ESCAPE '!' LIMIT $3"
)
COMPLETED_TYPES: Final = "SELECT name AS value FROM requirement_types ORDER BY name_key LIMIT $1"
COMPLETED_NAMES: Final[dict[NamedEntity, str]] = {
    "prompt": """
SELECT name AS value FROM items WHERE kind = 'prompt' AND lower(name) LIKE $1 ESCAPE '!'
ORDER BY number LIMIT $2
""",
    "person": """
SELECT username AS value FROM users WHERE active = 1 AND username_key LIKE $1 ESCAPE '!'
ORDER BY username_key LIMIT $2
""",
    "label": """
SELECT name AS value FROM labels WHERE name_key LIKE $1 ESCAPE '!' ORDER BY name_key LIMIT $2
""",
}


async def complete_references(db: Database, kind: Kind, typed: str, limit: int) -> list[str]:
    """Return reference ids of items by a prefix, or by a part of the title."""
    like = (_prefix_pattern(typed.upper()), f"%{_prefix_pattern(typed.lower())}")
    return [row["value"] for row in await db.fetch(COMPLETED_REFERENCES, kind, *like, limit)]


async def complete_ids(db: Database, kind: Kind, typed: str, limit: int) -> list[str]:
    """Return UUIDs of items that begin with a text."""
    return [
        row["value"]
        for row in await db.fetch(COMPLETED_IDS, kind, _prefix_pattern(typed.lower()), limit)
    ]


async def complete_names(db: Database, of: NamedEntity, beginning: str, limit: int) -> list[str]:
    """Return prompt names, usernames or labels that begin with a folded text."""
    return [
        row["value"]
        for row in await db.fetch(COMPLETED_NAMES[of], _prefix_pattern(beginning), limit)
    ]


async def first_types(db: Database, limit: int) -> list[str]:
    """Return the names of the first requirement types, in order."""
    return [row["value"] for row in await db.fetch(COMPLETED_TYPES, limit)]


def _prefix_pattern(text: str) -> str:
    """Return a LIKE pattern for a prefix, with wildcards escaped."""
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"{escaped}%"
