"""Results of tool calls, and tasks: calls that continue after their first answer.

Both forms of tasks have one interface. In 2025-11-25 the status is polled and `tasks/result`
returns the result; in the extension of 2026-07-28 `tasks/get` returns everything, questions too.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import UNSET, UnsetType

from accord.jsonrpc.protocol.errors import AccordError, RpcError, from_wire, own_error
from accord.jsonrpc.runtime.calls import decode_result
from accord.mcp.client.calls import CallOptions, Conversation
from accord.mcp.protocol.content import Content, Meta, TextContent
from accord.mcp.protocol.tasks import (
    EXTENSION,
    CompletedTask,
    DetailedTask,
    FailedTask,
    InputRequiredTask,
    Task,
    TaskCreated,
    TaskResult,
    TaskStatus,
    is_over,
)

T = TypeVar("T")


class ToolFailedError(AccordError):
    """A failure that a tool reports; the message is the text of its result."""


class ToolResult(Generic[T]):
    """The result of one call; if `is_error`, its content describes the failure."""

    __slots__ = ("_structured", "content", "is_error", "meta")

    def __init__(
        self, content: list[Content], structured: Any, *, is_error: bool, meta: Meta | None
    ) -> None:
        self.content = content
        self.is_error = is_error
        self.meta = meta
        self._structured = structured

    def __repr__(self) -> str:
        return f"ToolResult(content={self.content!r}, is_error={self.is_error})"

    @property
    def text(self) -> str:
        """The text blocks of the content, joined by line feeds."""
        return "\n".join(each.text for each in self.content if isinstance(each, TextContent))

    @property
    def has_structured(self) -> bool:
        return self._structured is not UNSET

    @property
    def structured(self) -> T:
        """The value for programs; None if there is none.

        Raises ToolFailedError if the tool failed without one.
        """
        if self._structured is UNSET:
            if self.is_error:
                raise ToolFailedError(self.text)
            return None  # type: ignore[return-value]  # T is the type of a result with a value
        return self._structured  # type: ignore[no-any-return]


POLL_SECONDS: Final = 1.0
"""The polling interval, unless the server recommends another."""
MIN_POLL_SECONDS: Final = 0.02
MAX_POLL_SECONDS: Final = 60.0
CANCEL_SECONDS: Final = 2.0
"""The timeout for cancelling a task after its caller has gone."""

Read = Callable[[Any], ToolResult[Any]]


class RunningTask(ABC, Generic[T]):
    """A call that runs on the server; `client.task(id)` continues with it later."""

    def __init__(self, conversation: Conversation, id: str, read: Read) -> None:
        self.id = id
        self.status: TaskStatus = "working"
        """The last status that the server reported."""
        self.message = ""
        """The server's message about the status."""
        self._conversation = conversation
        self._read = read
        self._poll = POLL_SECONDS
        self._ttl: float | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"

    @abstractmethod
    async def refresh(self) -> TaskStatus:
        """Fetch the status from the server, and return it."""

    async def cancel(self) -> None:
        """Ask the server to cancel the task, which may complete nevertheless."""
        await self._conversation.ask("tasks/cancel", {"taskId": self.id})

    async def result(self, timeout: float | None | UnsetType = UNSET) -> ToolResult[T]:
        """Wait for the result, and answer the task's questions meanwhile.

        `timeout` is in seconds, None for no limit; by default it is the task's time to live, or
        else the maximum duration of this client's calls. Raises the error of the call,
        task_cancelled, and CallTimeoutError.
        """
        if timeout is UNSET:
            timeout = self._conversation.longest if self._ttl is None else self._ttl
        try:
            async with asyncio.timeout(timeout):
                return await self._wait()
        except TimeoutError as error:
            if isinstance(error, RpcError):
                raise
            raise own_error(
                "timeout", f"task {self.id} was not done within {timeout:g} s"
            ) from None

    async def wait(self) -> ToolResult[T]:
        """Wait for the result, and cancel the task if the caller stops waiting."""
        try:
            return await self.result(self._conversation.longest)
        except (asyncio.CancelledError, TimeoutError):
            try:
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self.cancel()
            except (RpcError, TimeoutError):
                pass
            raise

    @abstractmethod
    async def _wait(self) -> ToolResult[T]:
        """Poll until the result is available, and return it."""

    async def _sleep(self) -> None:
        await asyncio.sleep(min(max(self._poll, MIN_POLL_SECONDS), MAX_POLL_SECONDS))

    def _note(
        self, status: TaskStatus, message: str, poll_ms: int | UnsetType, ttl_ms: int | None
    ) -> None:
        self.status, self.message = status, message
        if poll_ms is not UNSET:
            self._poll = poll_ms / 1000
        self._ttl = None if ttl_ms is None else max(ttl_ms / 1000, MIN_POLL_SECONDS)

    def _cancelled(self) -> RpcError:
        return own_error("task_cancelled", f"task {self.id} was cancelled", taskId=self.id)


class ModernTask(RunningTask[T]):
    """A task of the extension of 2026-07-28."""

    def __init__(self, conversation: Conversation, created: TaskCreated, read: Read) -> None:
        super().__init__(conversation, created.task_id, read)
        self._answered: set[str] = set()
        """The keys of answered questions, so that none is asked twice."""
        self._note(created.status, created.status_message, created.poll_interval_ms, created.ttl_ms)

    @classmethod
    def known_by(cls, conversation: Conversation, id: str, read: Read) -> Self:
        conversation.agreement.need_extension(EXTENSION, "tasks/get")
        unknown = TaskCreated(
            task_id=id, status="working", created_at="", last_updated_at="", ttl_ms=None
        )
        return cls(conversation, unknown, read)

    async def refresh(self) -> TaskStatus:
        await self._get()
        return self.status

    async def _get(self) -> DetailedTask:
        raw = await self._conversation.ask("tasks/get", {"taskId": self.id})
        task: Any = decode_result(raw, DetailedTask, "tasks/get")
        status: TaskStatus = task.__struct_config__.tag
        self._note(status, task.status_message, task.poll_interval_ms, task.ttl_ms)
        return task  # type: ignore[no-any-return]

    async def _wait(self) -> ToolResult[T]:
        while True:
            match await self._get():
                case CompletedTask(result=raw):
                    return self._read(raw)
                case FailedTask(error=error):
                    data = None if error.data is UNSET else error.data
                    failed = from_wire(error.code, error.message, data)
                    failed.remote = True
                    raise failed
                case InputRequiredTask() as asking:
                    await self._answer(asking)
                case _ if is_over(self.status):
                    raise self._cancelled()
            await self._sleep()

    async def _answer(self, asking: InputRequiredTask) -> None:
        fresh = {
            name: question
            for name, question in asking.input_requests.items()
            if name not in self._answered
        }
        if not fresh:
            return
        answers = await self._conversation.answers(fresh)
        await self._conversation.ask("tasks/update", {"taskId": self.id, "inputResponses": answers})
        self._answered.update(fresh)


class LegacyTask(RunningTask[T]):
    """A task of 2025-11-25."""

    def __init__(self, conversation: Conversation, task: Task, read: Read) -> None:
        super().__init__(conversation, task.task_id, read)
        self._note(task.status, task.status_message, task.poll_interval, task.ttl)

    @classmethod
    def known_by(cls, conversation: Conversation, id: str, read: Read) -> Self:
        conversation.agreement.need("tasks", "tasks/get")
        unknown = Task(task_id=id, status="working", created_at="", last_updated_at="", ttl=None)
        return cls(conversation, unknown, read)

    async def refresh(self) -> TaskStatus:
        raw = await self._conversation.ask("tasks/get", {"taskId": self.id})
        task: TaskResult = decode_result(raw, TaskResult, "tasks/get")
        self._note(task.status, task.status_message, task.poll_interval, task.ttl)
        return self.status

    async def _wait(self) -> ToolResult[T]:
        # 2025-11-25, tasks: `input_required` is answered on the stream of `tasks/result`.
        while not is_over(await self.refresh()) and self.status != "input_required":
            await self._sleep()
        if self.status == "cancelled":
            raise self._cancelled()
        raw = await self._conversation.ask(
            "tasks/result", {"taskId": self.id}, CallOptions(timeout=None)
        )
        self.status = "completed"
        return self._read(raw)


class FinishedTask(RunningTask[T]):
    """A call that was answered without a task."""

    def __init__(self, conversation: Conversation, result: ToolResult[T]) -> None:
        super().__init__(conversation, "", lambda raw: result)
        self.status = "completed"
        self._result = result

    async def refresh(self) -> TaskStatus:
        return self.status

    async def cancel(self) -> None:
        pass  # it is over

    async def _wait(self) -> ToolResult[T]:
        return self._result
