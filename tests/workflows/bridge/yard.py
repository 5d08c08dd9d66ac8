"""A bridge at work: a worker on a store, agents that are registered, tasks that are given out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from msgspec import json

from accord.a2a import AddressPolicy
from accord.store import Store, open_store
from accord.store.store import Row
from accord.workflows.bridge.agents import AgentCache, AgentCaller
from accord.workflows.bridge.callers import MethodCaller, ToolCaller
from accord.workflows.bridge.client_pool import Secrets
from accord.workflows.bridge.task import TaskCaller
from accord.workflows.bridge.worker import TaskWorker
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import CallAgent, Event, decode_event
from accord.workflows.storage.leases import Membership
from accord.workflows.storage.tasks import FIRST_GROUP, Call, Kind, NewTask
from tests.patience import PATIENCE as PATIENCE

LOCAL = AddressPolicy(allow_private=True)
SOON = Retry(attempts=3, initial_delay=0.01, max_delay=0.05, jitter=False)
RUN = "7b0c5c3e-0000-7000-8000-000000000001"

_AGENT = """
INSERT INTO agents (id, name, url, wire, auth, timeout, retry, max_concurrency, active, created_at,
    updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', '')
"""

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T | None]], *, patience: float = PATIENCE) -> T:
    """The first true thing that `look` gives."""
    async with asyncio.timeout(patience):
        while not (found := await look()):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    return found


class Tasks:
    """Tasks and agents in a store, as an executor and an administrator see them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bus = EmbeddedBus()
        self._numbers = count(1)

    async def register(
        self,
        name: str,
        url: str,
        *,
        wire: str = "a2a-0.3",
        auth: Any = None,
        timeout: float = 5.0,
        retry: Retry = SOON,
        concurrency: int = 64,
        active: int = 1,
    ) -> None:
        await self.store.write(
            _AGENT + "RETURNING id",
            *(name, name, url, wire, json.encode(auth or {}).decode(), timeout),
            *(json.encode(retry).decode(), concurrency, active),
        )

    async def give(
        self,
        *commands: Call,
        run: str = RUN,
        at: float | None = None,
        attempt_group: int = FIRST_GROUP,
    ) -> list[str]:
        """Give tasks out; their ids."""
        tasks = [
            NewTask(
                run_id=run,
                command=command,
                at=time.time() if at is None else at,
                attempt_group=attempt_group,
                correlation_id="c-7",
                traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            )
            for command in commands
        ]
        await self.store.transact(lambda db: self.bus.dispatch(db, tasks))
        return [task.id for task in tasks]

    async def ask(self, agent: str, input: Any = "hello", **options: Any) -> str:
        """Have an agent asked; the task's id."""
        name = options.pop("task", f"ask{next(self._numbers)}")
        command = CallAgent(task=name, step=name, agent=agent, input=input, **options)
        [id] = await self.give(command)
        return id

    async def cancel(self, *ids: str) -> None:
        await self.store.transact(lambda db: self.bus.cancel(db, ids))

    async def row(self, id: str) -> Row:
        [row] = await self.store.fetch("SELECT * FROM tasks WHERE id = $1", id)
        return row

    async def arrivals(self, id: str) -> list[Event]:
        """What the run was told about a task."""
        rows = await self.store.fetch("SELECT message_id, arrival FROM run_inbox ORDER BY id")
        return [
            decode_event(row["arrival"]) for row in rows if row["message_id"].startswith(f"{id}/")
        ]

    async def told(self, id: str, number: int = 1, *, patience: float = PATIENCE) -> Any:
        """What the run is told about a task, the first or a later time."""

        async def look() -> list[Event]:
            arrivals = await self.arrivals(id)
            return arrivals if len(arrivals) >= number else []

        return (await until(look, patience=patience))[number - 1]

    async def in_state(self, id: str, state: str) -> Row:
        """The row of a task, once it is in a state."""

        async def look() -> Row | None:
            row = await self.row(id)
            return row if row["state"] == state else None

        return await until(look)

    async def letters(self) -> list[tuple[Any, ...]]:
        rows = await self.store.fetch(
            "SELECT kind, run_id, task, target, code, message, body, attempts FROM dead_letters"
            " ORDER BY created_at"
        )
        return [tuple(row) for row in rows]


class Yard(Tasks):
    """The same, with a worker."""

    def __init__(self, store: Store, membership: Membership, worker: TaskWorker) -> None:
        super().__init__(store)
        self.membership = membership
        self.worker = worker


@asynccontextmanager
async def working(
    url: str,
    callers: dict[Kind, TaskCaller] | None = None,
    *,
    policy: AddressPolicy = LOCAL,
    secrets: Secrets | None = None,
    lease: float = 10.0,
    durable: bool = False,
    **options: Any,
) -> AsyncIterator[Yard]:
    """A worker on the store at `url`, with real callers unless others are given."""
    secrets = Secrets(Path("/nowhere"), {}) if secrets is None else secrets
    async with open_store(url, durable=durable) as store:
        membership = Membership(store, "bridge", lease=lease)
        await membership.start()
        agents = AgentCache(store)
        await agents.start()
        agent_caller = AgentCaller(agents, policy, secrets)
        method_caller = MethodCaller(policy)
        if callers is None:
            callers = {"agent": agent_caller, "tool": ToolCaller(policy), "method": method_caller}
        worker = TaskWorker(store, membership, EmbeddedBus(), callers, **options)
        await worker.start()
        try:
            yield Yard(store, membership, worker)
        finally:
            await worker.close()
            await agent_caller.close()
            await method_caller.close()
            await agents.close()
            await membership.close()
