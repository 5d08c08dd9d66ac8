"""Many rows in one statement. PostgreSQL takes lists of columns, which costs it half of what a
statement for each row does; SQLite takes rows, and it is the same to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from accord.store.store import Transaction

ColumnType: TypeAlias = Literal["text", "integer", "bigint", "double precision"]


class Insertion:
    """A statement that adds rows to a table: `columns` are their names and types, `then` is what
    follows, as in `ON CONFLICT (id) DO NOTHING`."""

    def __init__(self, table: str, columns: Mapping[str, ColumnType], then: str = "") -> None:
        names = ", ".join(columns)
        places = range(1, len(columns) + 1)
        values = ", ".join(f"${place}" for place in places)
        lists = ", ".join(
            f"${place}::{type}[]" for place, type in zip(places, columns.values(), strict=True)
        )
        into: Final = f"INSERT INTO {table} ({names})"
        self._by_rows = f"{into} VALUES ({values}) {then}"
        self._by_columns = f"{into} SELECT * FROM unnest({lists}) {then}"

    async def run(self, db: Transaction, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows, in this order. Raises StoreError."""
        if not rows:
            return
        if db.engine == "sqlite" or len(rows) == 1:
            await db.execute_many(self._by_rows, rows)
        else:
            await db.execute(self._by_columns, *zip(*rows, strict=True))
