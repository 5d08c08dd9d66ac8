"""A shop on each engine, and one for what no database decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operations.adapters.shop import Shop, shop_at
from tests.operations.auth.conftest import world as world


@pytest.fixture
async def shop(url: str) -> AsyncIterator[Shop]:
    async with shop_at(url) as found:
        yield found


@pytest.fixture
def local_url(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/local.db"


@pytest.fixture
async def local(local_url: str) -> AsyncIterator[Shop]:
    async with shop_at(local_url) as found:
        yield found
