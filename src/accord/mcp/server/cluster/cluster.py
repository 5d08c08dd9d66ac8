"""A cluster: one endpoint of several processes that serve the same clients.

    McpEndpoint(server, shared="postgresql://…")

Each process is a worker. Inside `async with Cluster(…)`, a worker shares the sessions and events
of the endpoint with all other workers, and the tasks, change notifications and secrets of its
server. A task runs on the worker that created it, and fails if that worker dies or leaves.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.resources import files
from secrets import token_bytes
from types import TracebackType
from typing import Final

import msgspec

from accord.jsonrpc.protocol.errors import own_error
from accord.mcp.protocol.opaque_state import MIN_KEY_BYTES
from accord.mcp.server.cluster.events import SharedEvents
from accord.mcp.server.cluster.sessions import SharedSessions
from accord.mcp.server.cluster.worker import (
    SWEEP_BEATS,
    ClusterWorker,
    ComponentsChanged,
    ElicitationCompleted,
    TaskChanged,
    WorkerGone,
)
from accord.mcp.server.http.endpoint_state import EndpointState
from accord.mcp.server.http.http_session import SessionPeers
from accord.mcp.server.http.sessions import SessionLimits
from accord.mcp.server.listeners import ChangeListeners, ServerChange
from accord.mcp.server.task_store import (
    MemoryTaskStore,
    RecordChange,
    RecordObserver,
    TaskRecord,
    task_error,
)
from accord.store import Store, Transaction, open_store


class SharedChanges:
    """A forwarder of change notifications between this worker and the other workers."""

    def __init__(self, listeners: ChangeListeners, worker: ClusterWorker) -> None:
        self._listeners = listeners
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[ServerChange, None] = {}
        self._telling = threading.local()
        self._lock = threading.Lock()
        worker.on(ComponentsChanged, self._hear)

    def begin(self) -> None:
        self._listeners.pass_on(self._pass_on)

    def end(self) -> None:
        self._listeners.stop_passing_on(self._pass_on)

    def _pass_on(self, change: ServerChange) -> None:
        """Queue a change for the other workers; called in the thread of the change."""
        if getattr(self._telling, "of_others", False):
            return
        with self._lock:
            is_first = not self._waiting
            self._waiting[change] = None
        if is_first:
            self._loop.call_soon_threadsafe(self._send)

    def _send(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        self._worker.send_all(*(ComponentsChanged(change.method, change.uri) for change in waiting))

    def _hear(self, changed: ComponentsChanged) -> None:
        self._telling.of_others = True
        try:
            self._listeners.tell(ServerChange(changed.method, changed.uri))
        finally:
            self._telling.of_others = False


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(TaskRecord).decode

_GET: Final = "SELECT record FROM mcp_tasks WHERE id = $1"
_PUT: Final = "UPDATE mcp_tasks SET record = $1, is_over = $2 WHERE id = $3"


class SharedTasks:
    """A store of the tasks of all workers; implements `TaskStore`."""

    def __init__(self, worker: ClusterWorker) -> None:
        self._worker = worker
        self._store = worker.store
        self._observers: list[RecordObserver] = []
        self._beats = 0
        worker.on(TaskChanged, self._changed)
        worker.on(WorkerGone, lambda gone: worker.spawn(self._fail_tasks_of(gone.worker)))
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

    async def change(self, id: str, change: RecordChange) -> TaskRecord | None:
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

    def observe(self, hear: RecordObserver) -> None:
        self._observers.append(hear)

    def _tell(self, record: TaskRecord) -> None:
        for observer in self._observers:
            observer(record)

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
        """Delete expired tasks that their workers did not delete, every few heartbeats."""
        self._beats += 1
        if not self._beats % SWEEP_BEATS:
            now = self._worker.now()
            await self._store.execute("DELETE FROM mcp_tasks WHERE expires < $1", now)


def _lost() -> Callable[[TaskRecord], TaskRecord | None]:
    message = "The process that ran this task is gone"
    error = task_error(own_error("internal_error", message))
    return lambda record: record.ended("failed", time.time(), message=message, error=error)


PART: Final = "accord.mcp"
_SEAL: Final = "seal"


class Cluster:
    """The shared state of one endpoint.

    Use it as `async with Cluster(endpoint, url) as cluster`.
    """

    sessions: SharedSessions
    events: SharedEvents

    def __init__(self, endpoint: EndpointState, url: str, limits: SessionLimits) -> None:
        self._endpoint = endpoint
        self._server = endpoint.server
        self._url = url
        self._limits = limits
        self._stack = AsyncExitStack()

    @property
    def others(self) -> SessionPeers:
        return self.sessions

    async def __aenter__(self) -> Cluster:
        async with AsyncExitStack() as stack:
            # Sessions need not outlive the machine.
            store = await stack.enter_async_context(open_store(self._url, durable=False))
            await store.migrate(PART, files(__package__) / "migrations")
            worker = ClusterWorker(store)
            self.sessions = SharedSessions(self._endpoint, worker, self._limits)
            self.events = SharedEvents(worker)
            tasks = SharedTasks(worker)
            changes = SharedChanges(self._server.listeners, worker)
            self._share_elicitations(worker, stack)
            self._server.asker.share_key(await _secret(store, _SEAL))
            await worker.join()
            stack.push_async_callback(worker.leave)
            self._keep_tasks(tasks, stack)
            changes.begin()
            stack.callback(changes.end)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def _keep_tasks(self, tasks: SharedTasks, stack: AsyncExitStack) -> None:
        if self._server.task_settings.store is None:
            own = self._server.core.tasks
            own.keep_in(tasks)
            stack.callback(lambda: own.keep_in(MemoryTaskStore()))

    def _share_elicitations(self, worker: ClusterWorker, stack: AsyncExitStack) -> None:
        elicitations = self._server.asker.elicitations
        elicitations.on_unknown = lambda id: worker.send_all(ElicitationCompleted(id))
        worker.on(
            ElicitationCompleted,
            lambda completed: elicitations.complete_here(completed.elicitation),
        )
        stack.callback(setattr, elicitations, "on_unknown", None)


async def _secret(store: Store, name: str) -> bytes:
    """Return the secret called `name`, which all workers share.

    The first worker generates the secret. One such secret seals the request states.
    """

    async def work(transaction: Transaction) -> bytes:
        await transaction.execute(
            "INSERT INTO mcp_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            name, token_bytes(MIN_KEY_BYTES),
        )  # fmt: skip
        [row] = await transaction.fetch("SELECT value FROM mcp_secrets WHERE name = $1", name)
        return bytes(row["value"])

    return await store.transact(work)
