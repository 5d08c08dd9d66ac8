"""Rules of the linter that were put aside for an item, as rows."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.operations.work import Database

OF_ITEM: Final = """
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
        """Return the columns of the table."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "author"}


async def of_item(db: Database, item_id: str) -> dict[str, SuppressionRow]:
    """Return the suppressions of an item, by rule."""
    found = [_suppression(row) for row in await db.fetch(OF_ITEM, item_id)]
    return {row.rule: row for row in found}


def _suppression(row: Any) -> SuppressionRow:
    return SuppressionRow(*row)
