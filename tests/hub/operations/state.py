"""The state of a hub, without the records of its changes."""

from __future__ import annotations

from typing import Any

from tests.hub.world import World

TABLES = (
    *("items", "steering_links", "relationships", "comments", "labels", "item_labels"),
    *("saved_views", "lint_suppressions"),
)
_COUNTING = frozenset({"version", "said_version", "updated_at"})


async def state(world: World) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in TABLES:
        rows: Any = await world.store.fetch(f"SELECT * FROM {table} ORDER BY 1, 2")
        found[table] = [
            {name: value for name, value in dict(row).items() if name not in _COUNTING}
            for row in rows
        ]
    return found
