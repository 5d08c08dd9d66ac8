"""A hub on each engine whose changes start runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hub.world import world_at
from tests.workflows.triggers.site import Site


@pytest.fixture
async def site(migrated_url: str) -> AsyncIterator[Site]:
    async with world_at(migrated_url) as world:
        yield Site(world)
