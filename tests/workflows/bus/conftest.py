"""A database, topics and buses for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from accord.store import Store, open_store
from accord.workflows.bus.topics import TopicNames
from tests.store.cluster import Cluster
from tests.workflows.bus.carrying import Carrying, new_names, workflow
from tools.kafka import Broker


@pytest.fixture
def postgres_url(cluster: Cluster, migrated_database: str) -> Iterator[str]:
    made = cluster.database(template=migrated_database)
    yield made
    cluster.drop(made)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    async with open_store(postgres_url, durable=False) as opened:
        await workflow(opened)
        yield opened


@pytest.fixture
def names() -> TopicNames:
    return new_names()


@pytest.fixture
async def carrying(store: Store, kafka: Broker, names: TopicNames) -> AsyncIterator[Carrying]:
    async with Carrying(store, kafka.servers, names) as made:
        yield made
