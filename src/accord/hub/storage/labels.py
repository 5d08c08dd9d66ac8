"""Labels as rows, and what they are on."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.choices import no_such
from accord.hub.domain.folding import fold
from accord.operations.errors import NotFoundError
from accord.operations.work import Database, is_uuid

SELECT: Final = """
SELECT l.id, l.name, l.name_key, l.colour, l.created_at,
       (SELECT COUNT(*) FROM item_labels WHERE label_id = l.id) AS used
FROM labels l
"""
ALL: Final = SELECT + "WHERE l.name_key > $1 ORDER BY l.name_key LIMIT $2"
BY_ID: Final = SELECT + "WHERE l.id = $1"
BY_KEY: Final = SELECT + "WHERE l.name_key = $1"
COUNT: Final = "SELECT COUNT(*) AS total FROM labels"
ALL_NAMES: Final = "SELECT id, name, name_key, colour FROM labels ORDER BY name_key"
NAMES: Final = "SELECT name FROM labels ORDER BY name_key LIMIT 200"
IS_ON: Final = "SELECT 1 FROM item_labels WHERE item_id = $1 AND label_id = $2"
SOME_ITEMS: Final = """
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
        """Return the columns of the table."""
        return {
            "id": self.id,
            "name": self.name,
            "name_key": self.name_key,
            "colour": self.colour,
            "created_at": self.created_at,
        }


class LabelName(Struct, frozen=True):
    """One label, without how often it is used."""

    id: str
    name: str
    name_key: str
    colour: str


async def find(db: Database, name_or_id: str) -> LabelRow:
    """Return the label with this name or id. Raises NotFoundError with valid names."""
    rows = await db.fetch(BY_ID, name_or_id.lower()) if is_uuid(name_or_id) else []
    rows = rows or await db.fetch(BY_KEY, fold(name_or_id))
    if not rows:
        valid = [row["name"] for row in await db.fetch(NAMES)]
        raise NotFoundError(no_such("label", name_or_id, valid), valid=valid[:30])
    return _label(rows[0])


async def find_named(db: Database, name: str) -> LabelRow | None:
    """Return the label with a name that looks like this one."""
    rows = await db.fetch(BY_KEY, fold(name))
    return _label(rows[0]) if rows else None


async def behind(db: Database, key: str, limit: int) -> list[LabelRow]:
    """Return the labels after a folded name, by name."""
    return [_label(row) for row in await db.fetch(ALL, key, limit)]


async def names(db: Database) -> list[LabelName]:
    """Return all labels, by name."""
    return [LabelName(*row) for row in await db.fetch(ALL_NAMES)]


async def count(db: Database) -> int:
    total: int = (await db.fetch(COUNT))[0]["total"]
    return total


async def is_on(db: Database, item_id: str, label_id: str) -> bool:
    """Return whether an item has a label."""
    return bool(await db.fetch(IS_ON, item_id, label_id))


async def some_items(db: Database, label_id: str, limit: int) -> list[str]:
    """Return reference ids of items with a label."""
    return [row["reference_id"] for row in await db.fetch(SOME_ITEMS, label_id, limit)]


def _label(row: Any) -> LabelRow:
    return LabelRow(*row)
