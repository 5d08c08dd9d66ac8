"""Another process that publishes what is in the outbox, until it is killed."""

from __future__ import annotations

import asyncio
import sys

from msgspec import json

from accord.store import open_store
from accord.workflows.bus.kafka import KafkaBus
from accord.workflows.bus.topics import TopicNames, TopicShape


async def main(url: str, servers: str, names: TopicNames) -> None:
    async with open_store(url, durable=False) as store:
        bus = KafkaBus(
            store,
            servers,
            role="bridge",
            names=names,
            shape=TopicShape(partitions=4),
            lease_seconds=2.0,
            group="other",
        )
        await bus.start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.decode(sys.argv[3], type=TopicNames)))
