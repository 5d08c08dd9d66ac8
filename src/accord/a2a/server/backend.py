"""The interface of an agent's backend, and the tasks of an agent in memory.

`Board` keeps the tasks, each with its state, followers and webhooks. Its methods change tasks
without an await, and therefore atomically. When there are too many tasks, the oldest finished ones
are dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.errors import failure
from accord.a2a.protocol.model import (
    TERMINAL,
    Answer,
    ArtifactUpdate,
    Event,
    ListQuery,
    Message,
    PushConfig,
    PushQuery,
    Send,
    StatusUpdate,
    Task,
    TaskPush,
    TaskState,
    TaskStatus,
    updated,
)
from accord.jsonrpc.protocol.errors import InvalidParamsError, own_error


class TaskPage(Struct, frozen=True, kw_only=True):
    """A page of tasks."""

    tasks: tuple[Task, ...]
    next_page: str
    total: int


class Backend(Protocol):
    @property
    def takes_webhooks(self) -> bool:
        """True if webhooks are supported."""

    async def send(self, send: Send, caller: str) -> Answer:
        """Answer a message, or return the task that the message starts or continues.

        Return without waiting for the task to end.
        """

    async def get(self, task_id: str, caller: str) -> Task: ...

    async def cancel(self, task_id: str, caller: str) -> Task: ...

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        """Return a page of tasks, newest first."""

    def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        """Yield the current task, then its events until it has one of the states `until`."""

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush: ...

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        """Return the webhooks of a task, or the one that the query names."""

    async def delete_push(self, query: PushQuery, caller: str) -> None: ...

    async def close(self, drain: float) -> None:
        """Wait up to `drain` seconds for tasks to end, then cancel them."""


MAX_TASKS: Final = 10_000
MAX_HISTORY: Final = 200
MAX_PUSHES: Final = 16
MAX_FOLLOWERS: Final = 100


def now() -> str:
    """Return the current time as a timestamp (1.0, section 5.6.1)."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Entry:
    """The record of one task: the task itself, its owner, webhooks and followers."""

    def __init__(self, task: Task, caller: str, number: int) -> None:
        self.task = task
        self.caller = caller
        self.number = number
        """The number of the task's last change; changes of all tasks are numbered in sequence."""
        self.pushes: dict[str, PushConfig] = {}
        self.followers: set[asyncio.Queue[Event]] = set()

    @property
    def is_over(self) -> bool:
        return self.task.status.state in TERMINAL


class Board:
    """The tasks of an agent, in memory."""

    def __init__(
        self,
        *,
        max_tasks: int = MAX_TASKS,
        on_event: Callable[[Entry, StatusUpdate | ArtifactUpdate], None],
    ) -> None:
        self._entries: dict[str, Entry] = {}
        self._over: deque[str] = deque()
        """The ids of finished tasks, in the order in which the tasks ended."""
        self._max_tasks = max_tasks
        self._on_event = on_event
        self._changes = 0

    def begin(self, message: Message, caller: str) -> Entry:
        """Add a task for a message. Raise BusyError if too many tasks are unfinished."""
        if len(self._entries) >= self._max_tasks:
            self._forget()
        context = message.context_id or str(uuid4())
        task_id = str(uuid4())
        first = replace(message, context_id=context, task_id=task_id)
        task = Task(
            id=task_id,
            context_id=context,
            status=TaskStatus(state=TaskState.SUBMITTED, timestamp=now()),
            history=(first,),
        )
        entry = self._entries[task_id] = Entry(task, caller, self._count())
        return entry

    def _forget(self) -> None:
        if not self._over:
            raise own_error("busy", f"{self._max_tasks:,} tasks are under way, which is the limit")
        del self._entries[self._over.popleft()]

    def find(self, task_id: str, caller: str) -> Entry:
        """Return a task of the caller. Raise RpcError if the caller has no such task."""
        entry = self._entries.get(task_id)
        if entry is None or entry.caller != caller:
            # 1.0, section 13.1: tasks of other callers must not be revealed.
            raise failure("TASK_NOT_FOUND", taskId=task_id[:100])
        return entry

    def knows(self, task_id: str) -> bool:
        return task_id in self._entries

    def record_message(self, entry: Entry, message: Message) -> None:
        """Add a client's message to the history of a task."""
        task = entry.task
        recorded = replace(message, context_id=task.context_id, task_id=task.id)
        entry.task = _limit_history(replace(task, history=(*task.history, recorded)))

    def change(self, entry: Entry, event: StatusUpdate | ArtifactUpdate) -> None:
        """Apply an event to a task, unless the task is over."""
        if entry.is_over:
            return
        entry.task = _limit_history(updated(entry.task, event))
        entry.number = self._count()
        if entry.is_over:
            self._over.append(entry.task.id)
        for follower in entry.followers:
            follower.put_nowait(event)
        self._on_event(entry, event)

    async def follow(
        self, entry: Entry, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        if len(entry.followers) >= MAX_FOLLOWERS:
            raise own_error("busy", f"{MAX_FOLLOWERS} follow this task, which is the limit")
        queue: asyncio.Queue[Event] = asyncio.Queue()
        entry.followers.add(queue)  # before the first yield, or changes meanwhile would be lost
        event: Event = entry.task
        try:
            while True:
                yield event
                if isinstance(event, Task | StatusUpdate) and event.status.state in until:
                    return
                event = await queue.get()
        finally:
            entry.followers.discard(queue)

    def page(self, query: ListQuery, caller: str) -> TaskPage:
        """Return a page of tasks.

        Raises InvalidParamsError for a malformed page token or time.
        """
        after = _read_time(query.updated_after) if query.updated_after else None
        found = [
            entry
            for entry in self._entries.values()
            if entry.caller == caller
            and query.context_id in ("", entry.task.context_id)
            and query.state in (None, entry.task.status.state)
            and (after is None or _read_time(entry.task.status.timestamp) >= after)
        ]
        found.sort(key=lambda entry: entry.number, reverse=True)
        before = _read_page_token(query.page_token)
        rest = [entry for entry in found if before is None or entry.number < before]
        listed = rest[: query.page_size]
        return TaskPage(
            tasks=tuple(_listed_task(entry.task, query) for entry in listed),
            next_page=str(listed[-1].number) if len(rest) > len(listed) else "",
            total=len(found),
        )

    def _count(self) -> int:
        self._changes += 1
        return self._changes


def _limit_history(task: Task) -> Task:
    return task.with_history(MAX_HISTORY)


def _listed_task(task: Task, query: ListQuery) -> Task:
    task = task.with_history(query.history_length)
    return task if query.include_artifacts else replace(task, artifacts=())


def _read_page_token(token: str) -> int | None:
    if not token:
        return None
    if not (token.isascii() and token.isdigit() and len(token) < 20):
        raise InvalidParamsError("pageToken is none that was given here")
    return int(token)


def _read_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParamsError("statusTimestampAfter is not a time of ISO 8601") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
