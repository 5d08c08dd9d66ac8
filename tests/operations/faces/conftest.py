"""A shop on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.operations.faces.shop import Shop, shop_at


@pytest.fixture
async def shop(url: str) -> AsyncIterator[Shop]:
    async with shop_at(url) as found:
        yield found
