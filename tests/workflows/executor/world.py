"""Workflows and runs in a store, and somebody who does what the tables say is to be done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from random import Random
from time import time
from typing import Any
from uuid import uuid4

from accord.store import Store
from accord.workflows.bus.bus import Bus, EmbeddedBus
from accord.workflows.core.events import Arrival, Command, TaskSucceeded, decode_command
from accord.workflows.core.machine import fold
from accord.workflows.core.reading import encode_definition, read_definition
from accord.workflows.core.state import State
from accord.workflows.executor.executor import Executor
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.history import LoadedRun, load_run, read_history
from accord.workflows.storage.leases import Membership
from accord.workflows.storage.messages import RunMessage, deliver
from accord.workflows.storage.runs import NewRun, Starter, create_runs
from accord.workflows.storage.tasks import WAKE
from tests.patience import PATIENCE as PATIENCE

Answer = Callable[[Command], Arrival | None]

SAVE = """
INSERT INTO workflows (name, version, definition, created_by, created_at) VALUES ($1, $2, $3, '', '')
"""
READY = """
SELECT id, run_id, command FROM tasks WHERE state = 'ready' AND cancelled = 0 ORDER BY id LIMIT 1000
"""
DONE = "UPDATE tasks SET state = $2 WHERE id = $1"


async def save(store: Store, definition: dict[str, Any], version: int = 1) -> None:
    text = encode_definition(read_definition(definition))
    await store.execute(SAVE, definition["name"], version, text)


async def begin(
    store: Store, workflow: str, input: Any = None, *, count: int = 1, **more: Any
) -> list[str]:
    """Start runs; their ids."""
    runs = [
        NewRun(
            id=str(uuid4()),
            workflow=workflow,
            version=1,
            input=input,
            starter=Starter(username="ann"),
            origin="rest",
            at=time(),
            **more,
        )
        for _ in range(count)
    ]
    await store.transact(lambda db: create_runs(db, runs))
    return [run.id for run in runs]


async def send(store: Store, run_id: str, *arrivals: Arrival) -> None:
    messages = [RunMessage(str(uuid4()), run_id, each) for each in arrivals]
    await store.transact(lambda db: deliver(db, messages))


async def load(store: Store, run_id: str) -> LoadedRun:
    return await store.read(lambda db: load_run(db, Definitions(), run_id))


async def outcome(store: Store, run_id: str) -> tuple[str, Any]:
    """How a run stands: its state, and the output or the error's code."""
    loaded = await load(store, run_id)
    error = loaded.state.error
    assert loaded.row.status == loaded.state.status
    return loaded.row.status, loaded.state.output if error is None else error.code


async def folded(store: Store, run_id: str) -> State:
    """The state that a whole history gives, whatever was kept of it in between."""
    loaded = await load(store, run_id)
    history = await store.read(lambda db: read_history(db, run_id))
    assert [number for number, _ in history] == list(range(1, len(history) + 1))
    return fold(loaded.program, (event for _, event in history))


async def until(condition: Callable[[], Awaitable[Any]], *, pause: float = 0.005) -> Any:
    """What a condition gives, as soon as that is something."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await condition()):  # noqa: ASYNC110 - tables tell nobody
            await asyncio.sleep(pause)
    return found


async def until_finished(store: Store, run_ids: Iterable[str]) -> None:
    ids = list(run_ids)
    left = "SELECT count(*) AS left FROM runs WHERE finished_at IS NULL AND id = $1"

    async def finished() -> bool:
        while ids and not (await store.fetch(left, ids[-1]))[0]["left"]:
            ids.pop()
        return not ids

    await until(finished)


async def until_status(store: Store, run_id: str, status: str) -> None:
    query = "SELECT id FROM runs WHERE id = $1 AND status = $2"
    await until(lambda: store.fetch(query, run_id, status))


async def until_task(store: Store, task_id: str, state: str = "ready") -> None:
    query = "SELECT id FROM tasks WHERE id = $1 AND state = $2"
    await until(lambda: store.fetch(query, task_id, state))


@asynccontextmanager
async def executing(
    store: Store, *, lease: float = 10.0, bus: Bus | None = None, **more: Any
) -> AsyncIterator[Executor]:
    """An executor at work."""
    membership = Membership(store, "executor", lease=lease)
    await membership.start()
    executor = Executor(store, bus or EmbeddedBus(), membership, **more)
    try:
        await executor.start()
        yield executor
    finally:
        await executor.close()
        await membership.close()


def succeed(command: Command) -> Arrival:
    return TaskSucceeded(at=time(), task=command.task, output=command.task)


class Bridge:
    """Does tasks as soon as they are ready. Some of the answers come `double`, and those of one
    turn in any order."""

    def __init__(self, store: Store, answer: Answer = succeed, *, double: float = 0.0) -> None:
        self._store = store
        self._answer = answer
        self._double = double
        self._random = Random(7)
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.sent = 0
        self.doubled = 0

    async def __aenter__(self) -> Bridge:
        self._stop = await self._store.listen(WAKE, self._woken.set)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *details: object) -> None:
        self._stop()
        assert self._task is not None
        self._task.cancel()
        results = await asyncio.gather(self._task, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError), results

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            if await self.work():
                continue
            try:
                async with asyncio.timeout(1.0):
                    await self._woken.wait()
            except TimeoutError:
                pass

    async def work(self) -> int:
        rows = await self._store.fetch(READY)
        answers = [
            (row["id"], row["run_id"], self._answer(decode_command(row["command"].encode())))
            for row in rows
        ]
        done = [(id, run_id, answer) for id, run_id, answer in answers if answer is not None]
        held = [(id, "running") for id, _, answer in answers if answer is None]
        messages = [
            RunMessage(f"{id}/{copy}", run_id, answer)
            for id, run_id, answer in done
            for copy in range(1 + (self._random.random() < self._double))
        ]
        self._random.shuffle(messages)
        self.sent += len(messages)
        self.doubled += len(messages) - len(done)
        changes = [*held, *((id, _state(answer)) for id, _, answer in done)]
        if changes:
            await self._store.transact(lambda db: self._write(db, changes, messages))
        return len(rows)

    async def _write(self, db: Any, changes: list[Any], messages: list[RunMessage]) -> None:
        await db.execute_many(DONE, changes)
        await deliver(db, messages)


def _state(answer: Arrival) -> str:
    return "asking" if type(answer).__name__ == "TaskAsked" else "done"
