"""What answers for an agent behind its web application: tasks, kept and worked on somewhere.

It knows the model and nothing of formats. Whoever asks is a name; tasks belong to whoever
began them, and to others they do not exist. What goes wrong is raised as `RpcError`, mostly by
`accord.a2a.protocol.errors.failure`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from msgspec import Struct

from accord.a2a.protocol.model import (
    Answer,
    Event,
    ListQuery,
    PushQuery,
    Send,
    Task,
    TaskPush,
    TaskState,
)


class TaskPage(Struct, frozen=True, kw_only=True):
    """Some of the tasks there are."""

    tasks: tuple[Task, ...]
    next_page: str
    total: int


class Backend(Protocol):
    @property
    def takes_webhooks(self) -> bool:
        """Whether anybody is told of what happens to tasks."""

    async def send(self, send: Send, caller: str) -> Answer:
        """Take a message: a direct answer, or the task that was begun or goes on. Does not wait
        for a task."""

    async def get(self, task_id: str, caller: str) -> Task: ...

    async def cancel(self, task_id: str, caller: str) -> Task: ...

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        """The latest first."""

    def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        """The task as it is, then what happens to it, until it is in one of these states."""

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush: ...

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        """The webhooks of a task; the one that is asked for, if one is."""

    async def delete_push(self, query: PushQuery, caller: str) -> None: ...

    async def close(self, drain: float) -> None:
        """Let what is under way come to its end for so long."""
