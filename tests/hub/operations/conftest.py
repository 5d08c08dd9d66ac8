"""A hub with the small shop, for tests of links."""

from __future__ import annotations

import pytest

from tests.hub.operations.shop import Shop
from tests.hub.world import World


@pytest.fixture
async def shop(world: World) -> Shop:
    return await Shop.in_world(world)
