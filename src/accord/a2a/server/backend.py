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
        """Tell if webhooks are supported."""

    async def send(self, send: Send, caller: str) -> Answer:
        """Take a message: answer directly, or return the task that it began or continues.

        Do not wait for the task.
        """

    async def get(self, task_id: str, caller: str) -> Task: ...

    async def cancel(self, task_id: str, caller: str) -> Task: ...

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        """Return a page of tasks, the latest first."""

    def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        """Yield the task as it is, then its events until it is in one of these states."""

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush: ...

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        """Return the webhooks of a task, or the one that is asked for."""

    async def delete_push(self, query: PushQuery, caller: str) -> None: ...

    async def close(self, drain: float) -> None:
        """Let what is under way come to its end for so long."""
