"""Servers that all races are run on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.hub.races.racing import Racing, faults_in, racing_server
from tests.store.cluster import Cluster


@pytest.fixture(scope="session", params=["sqlite", "postgresql", "two processes"])
def racing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Racing]:
    """A server on each engine, and two processes on PostgreSQL."""
    data = tmp_path_factory.mktemp("racing") / "data"
    cluster: Cluster | None = None
    if request.param != "sqlite":
        cluster = request.getfixturevalue("cluster")
    flags = ("--workers", "2") if request.param == "two processes" else ()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        _, found = runner.run(stack.enter_async_context(racing_server(data, cluster, *flags)))
        try:
            yield found
        finally:
            runner.run(stack.aclose())
    assert faults_in(Path(f"{data}.log").read_text()) == []
