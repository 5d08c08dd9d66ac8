"""A process that writes numbers and says on stdout which of them are committed, until it is
killed."""

from __future__ import annotations

import asyncio
import os
import sys

from accord.store import Store, Transaction, open_store

WRITERS = 4


async def write(store: Store, first: int) -> None:
    for number in range(first, 1_000_000, WRITERS):

        async def insert(transaction: Transaction, number: int = number) -> None:
            await transaction.execute("INSERT INTO written VALUES ($1)", number)

        await store.transact(insert, lane="written")
        os.write(1, b"%d\n" % number)


async def main(url: str, begin: int) -> None:
    async with open_store(url) as store, asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(write(store, begin + writer))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
