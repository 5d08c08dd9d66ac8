"""The hub's tables are made on both engines."""

from __future__ import annotations

from tests.hub.world import World


async def test_an_empty_hub_has_types_and_nothing_else(world: World) -> None:
    types = await world.store.fetch("SELECT name FROM requirement_types ORDER BY name_key")
    assert [row["name"] for row in types] == [
        *("Business Rule", "Data", "Functional", "Interface", "Non-Functional"),
    ]
    assert await world.store.fetch("SELECT id FROM items") == []
