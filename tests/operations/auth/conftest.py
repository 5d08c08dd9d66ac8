"""Accounts on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.operations.auth.world import World, world_at


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with world_at(url) as found:
        yield found
