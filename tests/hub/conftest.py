"""A hub on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hub.world import World, world_at


@pytest.fixture
def url(migrated_url: str) -> str:
    """Return the URL of a store that has the hub's tables and no rows."""
    return migrated_url


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with world_at(url) as found:
        yield found
