"""Another process that uses a store: adds to a counter, and wakes those who wait for it."""

from __future__ import annotations

import asyncio
import sys

from accord.store import Transaction, open_store


async def count(transaction: Transaction) -> None:
    [row] = await transaction.fetch("SELECT value FROM counters WHERE name = $1", "all")
    await transaction.execute(
        "UPDATE counters SET value = $1 WHERE name = $2", row["value"] + 1, "all"
    )
    await transaction.notify("counted")


async def main(url: str, times: int) -> None:
    async with open_store(url) as store:
        for _ in range(times):
            await store.transact(count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
