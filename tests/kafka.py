"""A Kafka of the tests' own: a private broker in a temporary folder, one for the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.kafka import Broker, BrokerError


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs. Who kills it starts it again; topics are named anew by each test."""
    yield from _running(tmp_path_factory.mktemp("kafka"))


def _running(folder: Path) -> Iterator[Broker]:
    try:
        broker = Broker(folder, brief=True)
        broker.start()
    except BrokerError as error:
        pytest.skip(str(error))
    try:
        yield broker
    finally:
        broker.kill()
