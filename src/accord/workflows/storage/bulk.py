"""SQL statements with many values: lists in one JSON parameter, and bulk inserts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import json

from accord.store.store import Engine, Transaction

IN_TEXTS: Final[dict[Engine, str]] = {
    "sqlite": "IN (SELECT value FROM json_each({}))",
    "postgresql": "= ANY (ARRAY(SELECT json_array_elements_text({}::json)))",
}
"""The SQL condition that a text is in a list; format it with the list's placeholder."""
IN_NUMBERS: Final[dict[Engine, str]] = {
    "sqlite": "IN (SELECT value FROM json_each({}))",
    "postgresql": "= ANY (ARRAY(SELECT json_array_elements_text({}::json)::bigint))",
}
"""The SQL condition that an integer is in a list; format it with the list's placeholder."""


def as_parameter(values: Iterable[str] | Iterable[int]) -> str:
    """Encode a list as JSON, for a parameter of `IN_TEXTS` or `IN_NUMBERS`."""
    return json.encode(list(values)).decode()


ColumnType: TypeAlias = Literal["text", "integer", "bigint", "double precision"]


class Insertion:
    """A statement that inserts rows into a table.

    `columns` maps names to types. `then` is the end of the statement, for example
    `ON CONFLICT (id) DO NOTHING`.
    """

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
        """Insert rows in this order. Raise StoreError if the statement fails."""
        if not rows:
            return
        if db.engine == "sqlite" or len(rows) == 1:
            await db.execute_many(self._by_rows, rows)
        else:
            await db.execute(self._by_columns, *zip(*rows, strict=True))
