"""Workers that share a file, and workers that share a database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.mcp.server.cluster.processes import Workers, running
from tests.store.cluster import Cluster


@pytest.fixture(params=["sqlite", "postgresql"])
async def workers(request: pytest.FixtureRequest) -> AsyncIterator[Workers]:
    flags = []
    if request.param == "postgresql":
        found: Cluster = request.getfixturevalue("cluster")
        flags = ["--store", found.database()]
    async with running(*flags) as started:
        yield started
