"""A bridge as a process of its own, to be stopped and killed.

python -m tests.workflows.bridge.process URL LEASE
"""

from __future__ import annotations

import asyncio
import sys

from tests.workflows.bridge.yard import working


async def main(url: str, lease: float) -> None:
    async with working(url, lease=lease, poll=0.1, drain=1.0) as yard:
        print(f"ready {yard.membership.id}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
