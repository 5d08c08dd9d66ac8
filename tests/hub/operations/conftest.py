"""A hub with a story of a shop, to link things in."""

from __future__ import annotations

import pytest

from tests.hub.operations.shop import Shop
from tests.hub.world import World


@pytest.fixture
async def shop(world: World) -> Shop:
    return await Shop.in_world(world)
