"""Many runs that wait, in a process of their own, which says how much memory it took.

python -m tests.workflows.executor.crowd URL RUNS
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from accord.store import open_store
from tests.workflows.executor.world import begin, executing, save, until

WAITING = {
    "name": "waiting",
    "steps": [
        {"name": "first", "type": "condition", "if": "${true}", "then": [{"name": "w", "type": "wait", "signal": "s"}]}
    ],
}  # fmt: skip


def most_megabytes() -> int:
    """Of this process only: what `getrusage` tells begins with that of whoever started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


async def main(url: str, runs: int) -> None:
    async with open_store(url, durable=False) as store:
        await save(store, WAITING)
        async with executing(store) as executor:
            for _ in range(runs // 1000):
                await begin(store, "waiting", {"text": "x" * 1000, "list": [1, 2, 3]}, count=1000)

            async def is_quiet() -> bool:
                return executor.metrics.decided == runs

            await until(is_quiet, pause=0.05)
            [row] = await store.fetch("SELECT count(*) AS n FROM runs WHERE status = 'waiting'")
            print(row["n"], executor.metrics.held, most_megabytes())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
