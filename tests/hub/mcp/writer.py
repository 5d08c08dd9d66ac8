"""Another process that uses the same hub: `python -m tests.hub.mcp.writer URL`.

Reads one call per line from stdin, `{"operation": …, "arguments": …}`, and prints its result. Its
clock is an hour slow, because clocks of machines may differ.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta

import msgspec

from accord.store import open_store
from tests.hub.world import World


def slow_clock() -> str:
    return (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def main(url: str) -> None:
    async with open_store(url, durable=False) as store:
        world = World(store)
        world.runner.now = slow_clock
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            call = msgspec.json.decode(line)
            result = await world.call(call["operation"], world.admin, **call["arguments"])
            print(msgspec.json.encode(result).decode(), flush=True)


asyncio.run(main(sys.argv[1]))
