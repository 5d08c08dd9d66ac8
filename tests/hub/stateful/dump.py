"""All that a database holds."""

from __future__ import annotations

from typing import Any, Final

from accord.store import Store

TABLES: Final = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name",
    "postgresql": """
        SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name
    """,
}


async def dump(store: Store) -> dict[str, list[str]]:
    """Every row of every table."""

    async def read(db: Any) -> dict[str, list[str]]:
        names = [row["name"] for row in await db.fetch(TABLES[store.engine])]
        return {
            name: sorted(repr(tuple(row)) for row in await db.fetch(f'SELECT * FROM "{name}"'))
            for name in names
        }

    return await store.read(read, snapshot=True)
