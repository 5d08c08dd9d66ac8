"""An executor as a process of its own, to be stopped and killed. On the way out it says what it
counted.

    python -m tests.workflows.executor.process URL LEASE [stop-when-reading | stop-when-writing]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from accord.store import open_store
from accord.store.store import ReadTransaction, Transaction
from accord.workflows.bus.bus import EmbeddedBus, RunAnnouncement
from accord.workflows.core.program import Program
from accord.workflows.executor.executor import Executor
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.leases import Membership
from accord.workflows.storage.tasks import NewTask


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


class StoppingDefinitions(Definitions):
    """The process stops once it has read what arrived, and before it decides on it."""

    async def get(self, db: ReadTransaction, name: str, version: int) -> Program:
        found = await super().get(db, name, version)
        stop()
        return found


class StoppingBus(EmbeddedBus):
    """The process stops in the middle of the transaction in which it writes."""

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[RunAnnouncement] = (),
        *,
        owned: Sequence[NewTask] = (),
    ) -> None:
        stop()
        await super().dispatch(db, tasks, decisions, owned=owned)


async def main(url: str, lease: float, how: str) -> None:
    async with open_store(url, durable=False) as store:
        membership = Membership(store, "executor", lease=lease)
        await membership.start()
        bus = StoppingBus() if how == "stop-when-writing" else EmbeddedBus()
        definitions = StoppingDefinitions() if how == "stop-when-reading" else Definitions()
        executor = Executor(store, bus, membership, definitions=definitions)
        await executor.start()
        print(f"ready {membership.id}", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await executor.close()
        await membership.close()
        counts = executor.metrics
        print(f"fenced {counts.fenced} decided {counts.decided}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), (*sys.argv, "")[3]))
