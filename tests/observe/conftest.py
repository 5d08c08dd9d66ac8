"""One system that was used, for all tests: what they look at is what was seen of it."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from accord.app.settings import Settings
from tests.observe.scene import Observed, observe
from tests.store.cluster import Cluster
from tools.kafka import Broker


@pytest.fixture(scope="session")
def observed(cluster: Cluster, kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    prefix = uuid4().hex[:8]
    topics = "&".join(
        f"{name}={prefix}.{name.replace('_', '-')}"
        for name in ("tasks", "results", "runs", "events", "dead_letters")
    )
    settings = Settings(
        data=str(tmp_path_factory.mktemp("observed")),
        database=cluster.database(),
        secret_key="k" * 64,
        port=0,
        tracing=True,
        allow_private_agents=True,
        bus=f"kafka://{kafka.servers}?{topics}&group={prefix}",
    )
    return asyncio.run(observe(settings))
