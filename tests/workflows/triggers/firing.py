"""A process that fires what is due, until it is killed: `python -m …firing URL NOW`."""

from __future__ import annotations

import asyncio
import sys

from accord.store import open_store
from accord.workflows.triggers.triggers import Scheduler
from tests.hub.world import Trail


async def main(url: str, now: float) -> None:
    async with open_store(url) as store:
        await Scheduler(store, Trail(), now=lambda: now).fire_due()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
