"""The tasks of one server: creating, running, watching, cancelling and removing them.

A task runs in the process that created it. Its changes are written to the store, which notifies all
processes, so any process can report the task.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from inspect import isawaitable
from secrets import token_hex, token_urlsafe
from typing import Any, Final
from weakref import ref

from msgspec import UNSET, Raw
from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import RpcError, is_expected, to_wire
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import RELATED_TASK, TextContent
from accord.mcp.protocol.messages import CallToolParams, CallToolResult, failure
from accord.mcp.protocol.tasks import EXTENSION, CreateTaskResult
from accord.mcp.protocol.versions import V2025_11_25, Era
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.context import Context
from accord.mcp.server.handler_runner import HandlerRunner
from accord.mcp.server.input_requests.request_state import Once
from accord.mcp.server.session import ClientLink, Incoming
from accord.mcp.server.task_store import (
    MIN_TTL_MS,
    MemoryTaskStore,
    RecordObserver,
    TaskInputChannel,
    TaskLink,
    TaskRecord,
    TaskStore,
    created,
    task,
    task_error,
    task_result,
)

ANYONE: Final = "anyone"
"""The owner of tasks of anonymous callers without a session. Anybody who knows the unguessable id
of such a task may use it (tasks extension, security)."""
_SESSION: Final = "session "


def owner_of(incoming: Incoming) -> str:
    """Return the owner of a request's tasks: the principal, or else the session.

    2025-11-25, tasks, access control: a task belongs to the authorization that it was created with.
    """
    link = incoming.link
    if link.principal is not None:
        return "principal " + link.principal.key
    if incoming.era is Era.HANDSHAKE and link.session is not None:
        if not link.session.key:
            link.session.key = token_urlsafe(24)
        return _SESSION + link.session.key
    return ANYONE


def ends_with_session(owner: str) -> bool:
    """Return whether `owner` is a session, so that its tasks end with the session."""
    return owner.startswith(_SESSION)


log = logging.getLogger("accord.mcp")

MAX_MESSAGE = 200
"""The maximum length of an error's text in a status message."""


class TaskExecution:
    """A task that this process runs."""

    __slots__ = ("asking", "context", "incoming", "is_ending", "link", "work")

    def __init__(
        self,
        incoming: Incoming,
        link: ClientLink,
        context: Context,
        asking: TaskInputChannel,
    ) -> None:
        self.incoming = incoming
        self.link = link
        """The link to the client that created the task."""
        self.context = context
        self.asking = asking
        self.work: asyncio.Task[None] | None = None
        self.is_ending = False


class Tasks:
    """The tasks of one server, for all of its clients."""

    def __init__(self, runner: HandlerRunner) -> None:
        self._runner = runner
        self._server = runner.server
        settings = self._settings = runner.server.task_settings
        self.store: TaskStore
        self._running: dict[str, TaskExecution] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._listeners: dict[str, set[RecordObserver]] = {}
        self._sessions: set[str] = set()
        self._chores: set[asyncio.Task[Any]] = set()
        self._closer: asyncio.Task[None] | None = None
        self.keep_in(MemoryTaskStore() if settings.store is None else settings.store)

    def keep_in(self, store: TaskStore) -> None:
        """Use `store` from now on; call this before any task is created."""
        self.store = store
        store.observe(self._changed)

    @property
    def running(self) -> int:
        """The number of tasks that this process runs."""
        return len(self._running)

    # The decision to make a call a task

    def wants(self, tool: ServedTool, params: CallToolParams, incoming: Incoming) -> bool:
        """Return whether a tool call becomes a task.

        Raises RpcError if the tool requires a task and the client has not requested one or cannot
        use tasks, and if the client requests a task that the tool forbids.
        """
        if incoming.era is Era.STATELESS:
            return self._wants_by_extension(tool, incoming)
        has_tasks = incoming.version == V2025_11_25 and self._server.has_task_tools
        if params.task is UNSET or not has_tasks:
            if tool.task_support == "required":
                raise self._not_found("this tool can only be called as a task", incoming)
            # 2025-11-25, tasks: a server without the task capability ignores `task`
            return False
        if tool.task_support == "forbidden":
            raise self._not_found("this tool cannot be called as a task", incoming)
        return True

    def _wants_by_extension(self, tool: ServedTool, incoming: Incoming) -> bool:
        """Return whether a call of the stateless era becomes a task.

        Tasks extension: the server decides, for clients that declare the extension. Raises RpcError
        if the tool requires a task and the client does not declare the extension.
        """
        if tool.task_support == "forbidden":
            return False
        if _has_extension(incoming):
            return True
        if tool.task_support == "required":
            raise missing_extension(incoming)
        return False

    def _not_found(self, why: str, incoming: Incoming) -> RpcError:
        # 2025-11-25, tasks, tool-level negotiation: -32601 in both cases
        return failure(
            "method_not_found",
            f"Method not found: {why}",
            era=incoming.era,
            profile=self._server.codes,
        )

    # Running

    async def start(self, tool: ServedTool, params: CallToolParams, incoming: Incoming) -> Any:
        """Run a tool call as a task, and return the task for the client.

        Raises RpcError if there are too many tasks.
        """
        context = self._runner.context(incoming, params)
        record = await self._create(params, incoming)
        self._adopt(
            record,
            context,
            incoming,
            lambda: tool.call(params.arguments, context, incoming.era, self._server.codes),
        )
        return self._handle(record, incoming)

    async def start_when_requested(
        self, tool: ServedTool, params: CallToolParams, incoming: Incoming
    ) -> Any:
        """Run a tool call that becomes a task when its handler requests that.

        Until then it is a normal call: it may return its result, and ask its questions in rounds.

        Tasks extension, creation: questions before the creation of a task are asked in rounds.
        """
        context = self._runner.context(incoming, params)
        begun: asyncio.Future[TaskRecord] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(
            _result(lambda: tool.call(params.arguments, context, incoming.era, self._server.codes))
        )

        async def begin() -> None:
            record = await self._create(params, incoming)
            self._adopt(record, context, incoming, lambda: work)
            begun.set_result(record)

        context.move(begin_task=begin)
        try:
            await asyncio.wait((work, begun), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not begun.done():
                work.cancel()
                context.end()
            raise
        if begun.done():
            return self._handle(begun.result(), incoming)
        finish = self._runner.replies.finish
        return await self._runner.answer(work, context, incoming, lambda it: finish(it, incoming))

    async def _create(self, params: CallToolParams, incoming: Incoming) -> TaskRecord:
        settings, now = self._settings, time.time()
        owner = owner_of(incoming)
        record = TaskRecord(
            id=token_urlsafe(24),
            owner=owner,
            created=now,
            updated=now,
            ttl_ms=self._ttl(params),
            poll_ms=settings.poll_ms,
        )
        try:
            is_kept = await self.store.add(
                record, most=settings.max_tasks, most_of_owner=settings.max_tasks_per_owner
            )
        except asyncio.CancelledError:
            self.spawn(self.store.remove(record.id))  # no process would ever run it
            raise
        if not is_kept:
            raise failure(
                "max_concurrent_tasks",
                "There are too many tasks",
                era=incoming.era,
                profile=self._server.codes,
            )
        self._timers[record.id] = asyncio.get_running_loop().call_later(
            record.ttl_ms / 1000, _expire, ref(self), record.id
        )
        if ends_with_session(owner) and owner not in self._sessions:
            self._sessions.add(owner)
            incoming.link.at_end(lambda: self.spawn(self._forget_owner(owner)))
        return record

    def _ttl(self, params: CallToolParams) -> int:
        requested = UNSET if params.task is UNSET else params.task.ttl
        if requested is UNSET:
            return self._settings.ttl_ms
        return min(max(requested, MIN_TTL_MS), self._settings.max_ttl_ms)

    def _adopt(
        self,
        record: TaskRecord,
        context: Context,
        incoming: Incoming,
        call: Callable[[], Any],
    ) -> None:
        """Run `call` as the task that `record` describes."""
        link = TaskLink(incoming.link, record.id, incoming.era)
        moved = Incoming(incoming.context, link, incoming.meta, incoming.era, incoming.version)
        once = Once() if context.asking is None else context.asking.once
        asking = TaskInputChannel(record.id, moved, self.store, self._server.codes, once)
        context.move(incoming=moved, asking=asking)
        context.is_held = True
        running = self._running[record.id] = TaskExecution(moved, incoming.link, context, asking)
        running.work = asyncio.create_task(self._run(record.id, running, call))
        if self._closer is None:
            self._closer = asyncio.create_task(self._close_with_server())

    async def _run(self, id: str, running: TaskExecution, call: Callable[[], Any]) -> None:
        try:
            await self._conclude(id, running, await _result(call))
        except asyncio.CancelledError:
            running.is_ending = True
            await self._end(id, "cancelled", message="The task was cancelled.")
        except Exception as error:  # noqa: BLE001 - a tool's function may raise anything
            running.is_ending = True
            wire_error = self._wire_error(id, error)
            message = wire_error.message[:MAX_MESSAGE]
            await self._end(id, "failed", message=message, error=task_error(wire_error))
        finally:
            running.context.is_held = False
            running.context.end()
            del self._running[id]
            if not self._running and self._closer is not None:
                self._closer.cancel()
                self._closer = None

    async def _conclude(self, id: str, running: TaskExecution, result: CallToolResult) -> None:
        running.is_ending = True
        incoming = running.incoming
        if incoming.era is Era.STATELESS:
            # Tasks extension, execution errors: a tool that reports an error has completed.
            data = encode(self._runner.replies.finish(result, incoming))
            await self._end(id, "completed", result=Raw(data))
            return
        meta = {RELATED_TASK: {"taskId": id}, **(result.meta or {})}
        data = encode(self._runner.replies.finish(replace(result, meta=meta), incoming))
        # 2025-11-25, tasks, execution errors: a tool that reports an error has failed.
        status = "failed" if result.is_error else "completed"
        message = _first_text(result) if result.is_error else ""
        await self._end(id, status, message=message, result=Raw(data))

    async def _end(self, id: str, status: Any, **outcome: Any) -> None:
        await self.store.change(id, lambda record: record.ended(status, time.time(), **outcome))

    def _wire_error(self, id: str, error: Exception) -> RpcError:
        correlation_id = token_hex(8)
        if not is_expected(error):
            log.error("task %s failed [%s]", id, correlation_id, exc_info=error)
        return to_wire(error, correlation_id=correlation_id)

    def _handle(self, record: TaskRecord, incoming: Incoming) -> Any:
        if incoming.era is Era.STATELESS:
            return self._runner.replies.finish(created(record), incoming)
        return CreateTaskResult(task=task(record))

    # Tasks of a caller

    async def find(self, id: str, incoming: Incoming) -> TaskRecord:
        """Return the record of a task of the caller.

        Raises RpcError for an unknown task, and for a task of another owner.
        """
        record = await self.store.get(id)
        if record is None or not _may_see(record, incoming):
            raise failure(
                "task_not_found",
                "Task not found",
                era=incoming.era,
                profile=self._server.codes,
            )
        return record

    async def owned(self, incoming: Incoming) -> list[TaskRecord]:
        """Return the records of the caller's tasks, oldest first."""
        now = time.time()
        records = await self.store.of_owner(owner_of(incoming))
        return [record for record in records if record.expires > now]

    async def among(self, ids: Iterable[str], incoming: Incoming) -> list[TaskRecord]:
        """Return the records of those tasks in `ids` that the caller may see."""
        records = [await self.store.get(id) for id in ids]
        return [it for it in records if it is not None and _may_see(it, incoming)]

    async def cancel(self, id: str) -> TaskRecord | None:
        """Cancel a task and return its new record; None if the task was already over."""
        return await self.store.change(
            id,
            lambda record: record.ended(
                "cancelled", time.time(), message="The task was cancelled by request."
            ),
        )

    def next_change(self, id: str) -> Awaitable[None]:
        """Return an awaitable that completes at the task's next change or removal."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(id, set()).add(waiting)
        waiting.add_done_callback(lambda done: self._stop_waiting(id, done))
        return waiting

    def listen(self, ids: Iterable[str], hear: RecordObserver) -> None:
        """Register `hear`, to be called with the record of a task in `ids` that changes."""
        for id in ids:
            self._listeners.setdefault(id, set()).add(hear)

    def stop_listening(self, ids: Iterable[str], hear: RecordObserver) -> None:
        for id in ids:
            hearing = self._listeners.get(id, set())
            hearing.discard(hear)
            if not hearing:
                self._listeners.pop(id, None)

    def wake(self, id: str) -> None:
        """Wake all `next_change` awaitables of a task, so that its waiters look at it again."""
        for waiting in tuple(self._waiting.get(id, ())):
            if not waiting.done():
                waiting.set_result(None)

    def _stop_waiting(self, id: str, waiting: asyncio.Future[None]) -> None:
        others = self._waiting.get(id, set())
        others.discard(waiting)
        if not others:
            self._waiting.pop(id, None)

    def _changed(self, record: TaskRecord) -> None:
        """Pass on a changed record, whichever process has changed it.

        A running handler of the task gets new answers or is cancelled; waiters, listeners and, in
        the handshake era, the client are notified.
        """
        running = self._running.get(record.id)
        if running is not None:
            if record.status != "cancelled":
                running.asking.hear(record)
            elif running.work is not None and not running.is_ending:
                running.work.cancel()
            if running.incoming.era is Era.HANDSHAKE:
                running.link.announce("notifications/tasks/status", task_result(record))
        self.wake(record.id)
        for listener in tuple(self._listeners.get(record.id, ())):
            listener(record)

    # The end

    async def forget(self, id: str) -> None:
        """Stop and remove a task that has expired or that nobody can reach any more."""
        timer = self._timers.pop(id, None)
        if timer is not None:
            timer.cancel()
        await self.store.remove(id)
        running = self._running.get(id)
        if running is not None and running.work is not None:
            running.work.cancel()
        self.wake(id)

    async def _forget_owner(self, owner: str) -> None:
        self._sessions.discard(owner)
        for record in await self.store.of_owner(owner):
            await self.forget(record.id)

    async def _close_with_server(self) -> None:
        await self._server.closing.wait()
        self._closer = None
        for running in tuple(self._running.values()):
            if running.work is not None:
                running.work.cancel()

    def spawn(self, chore: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background, and keep a reference until it is done."""
        work = asyncio.ensure_future(chore)
        self._chores.add(work)
        work.add_done_callback(self._chores.discard)


def missing_extension(incoming: Incoming) -> RpcError:
    """Return the error for a client that does not declare the tasks extension."""
    return failure(
        "capability_not_supported",
        "Missing required client capability",
        era=incoming.era,
        requiredCapabilities={"extensions": {EXTENSION: {}}},
    )


def check_extension(incoming: Incoming) -> None:
    """Raise RpcError unless the client declares the tasks extension."""
    if not _has_extension(incoming):
        raise missing_extension(incoming)


def _may_see(record: TaskRecord, incoming: Incoming) -> bool:
    """Return whether the caller owns a task, and the task has not expired.

    Other tasks are treated like unknown tasks.
    """
    return record.owner == owner_of(incoming) and record.expires > time.time()


def _has_extension(incoming: Incoming) -> bool:
    return EXTENSION in (incoming.capabilities.extensions or {})


def _expire(tasks: ref[Tasks], id: str) -> None:
    """Remove an expired task; called by the task's timer.

    The timer holds only a weak reference to `Tasks`: it may run for hours, and must not keep a
    server in memory that is no longer used.
    """
    found = tasks()
    if found is not None:
        found.spawn(found.forget(id))


async def _result(call: Callable[[], Any]) -> Any:
    result = call()
    return await result if isawaitable(result) else result


def _first_text(result: CallToolResult) -> str:
    texts = [each.text for each in result.content if isinstance(each, TextContent)]
    return texts[0][:MAX_MESSAGE] if texts else ""
