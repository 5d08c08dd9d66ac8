"""Tasks that all workers know of. Each is run by the worker that created it; if that one is gone,
the task has failed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from accord.jsonrpc.errors import own_error
from accord.mcp.server.shared.mail import Gone, TaskChanged
from accord.mcp.server.shared.worker import SWEEP_BEATS, Worker
from accord.mcp.server.tasks.record import TaskRecord, task_error
from accord.mcp.server.tasks.store import Change, Hear
from accord.store import Transaction

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(TaskRecord).decode

_GET: Final = "SELECT record FROM mcp_tasks WHERE id = $1"
_PUT: Final = "UPDATE mcp_tasks SET record = $1, is_over = $2 WHERE id = $3"


class SharedTasks:
    """The tasks of all workers; implements `TaskStore`."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._store = worker.store
        self._observers: list[Hear] = []
        self._beats = 0
        worker.on(TaskChanged, self._changed)
        worker.on(Gone, lambda gone: worker.spawn(self._fail_tasks_of(gone.worker)))
        worker.on_beat.append(self._sweep)

    async def add(self, record: TaskRecord, *, most: int, most_of_owner: int) -> bool:
        number = self._worker.number

        async def work(transaction: Transaction) -> bool:
            [all_] = await transaction.fetch("SELECT count(*) AS n FROM mcp_tasks")
            [own] = await transaction.fetch(
                "SELECT count(*) AS n FROM mcp_tasks WHERE owner = $1", record.owner
            )
            if all_["n"] >= most or own["n"] >= most_of_owner:
                return False
            await transaction.execute(
                "INSERT INTO mcp_tasks (id, owner, worker, created, expires, is_over, record) "
                "VALUES ($1, $2, $3, $4, $5, 0, $6)",
                record.id, record.owner, number, record.created, record.expires, _encode(record),
            )  # fmt: skip
            return True

        return await self._store.transact(work)

    async def get(self, id: str) -> TaskRecord | None:
        rows = await self._store.fetch(_GET, id)
        return _decode(rows[0]["record"]) if rows else None

    async def change(self, id: str, change: Change) -> TaskRecord | None:
        async def work(transaction: Transaction) -> TaskRecord | None:
            rows = await transaction.fetch(_GET, id)
            changed = change(_decode(rows[0]["record"])) if rows else None
            if changed is not None:
                await transaction.execute(_PUT, _encode(changed), int(changed.is_over), id)
                await self._worker.post_all(transaction, TaskChanged(id))
            return changed

        changed = await self._store.transact(work)
        if changed is not None:
            self._tell(changed)
        return changed

    async def remove(self, id: str) -> None:
        await self._store.execute("DELETE FROM mcp_tasks WHERE id = $1", id)

    async def of_owner(self, owner: str) -> list[TaskRecord]:
        rows = await self._store.fetch(
            "SELECT record FROM mcp_tasks WHERE owner = $1 ORDER BY created, id", owner
        )
        return [_decode(row["record"]) for row in rows]

    def observe(self, hear: Hear) -> None:
        self._observers.append(hear)

    def _tell(self, record: TaskRecord) -> None:
        for hear in self._observers:
            hear(record)

    def _changed(self, changed: TaskChanged) -> None:
        self._worker.spawn(self._tell_of(changed.task))

    async def _tell_of(self, id: str) -> None:
        record = await self.get(id)
        if record is not None:
            self._tell(record)

    async def _fail_tasks_of(self, worker: int) -> None:
        rows = await self._store.fetch(
            "SELECT id FROM mcp_tasks WHERE worker = $1 AND is_over = 0", worker
        )
        for row in rows:
            await self.change(row["id"], _lost())

    async def _sweep(self) -> None:
        """Delete expired tasks of workers that did not live to do so."""
        self._beats += 1
        if not self._beats % SWEEP_BEATS:
            now = self._worker.now()
            await self._store.execute("DELETE FROM mcp_tasks WHERE expires < $1", now)


def _lost() -> Callable[[TaskRecord], TaskRecord | None]:
    message = "The process that ran this task is gone"
    error = task_error(own_error("internal_error", message))
    return lambda record: record.ended("failed", time.time(), message=message, error=error)
