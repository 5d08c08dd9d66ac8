"""A hub on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hub.world import World, world_at


@pytest.fixture
def url(migrated_url: str) -> str:
    """The URL of a store with the hub's tables, and nothing in them."""
    return migrated_url


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with world_at(url) as found:
        yield found
