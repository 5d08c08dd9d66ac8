"""A served hub on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hub.mcp.hub import Hub, serving_hub
from tests.hub.world import World


@pytest.fixture
async def hub(world: World) -> AsyncIterator[Hub]:
    async with serving_hub(world) as found:
        yield found
