"""Tool calls, and the tasks that tool calls can become.

A tool's definition says which HTTP headers a call needs, and which schema the result must match.
Definitions are known for listed tools only. An unlisted tool can be called too; its result is then
not compared with a schema, and a server that requires headers for it refuses the call.

Tasks are calls that continue after their first answer. Both forms of tasks have one interface. In
2025-11-25 the status is polled and `tasks/result` returns the result; in the extension of
2026-07-28 `tasks/get` returns the status, the result and the questions of the server.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, Self, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType, to_builtins
from msgspec.structs import replace

from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import (
    AccordError,
    InvalidResultError,
    RpcError,
    from_wire,
    log_line,
    own_error,
)
from accord.jsonrpc.runtime.calls import decode_result
from accord.mcp.client.calls import CallOutcome, Conversation, McpCallOptions
from accord.mcp.client.wire import lacking
from accord.mcp.protocol.content import Content, Meta, TextContent
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.headers import HeaderParameter, parameter_headers, request_headers
from accord.mcp.protocol.messages import CallToolResult, ListToolsResult
from accord.mcp.protocol.tasks import (
    EXTENSION,
    CompletedTask,
    CreateTaskResult,
    DetailedTask,
    FailedTask,
    GetTaskResult,
    InputRequiredTask,
    Task,
    TaskCreated,
    TaskStatus,
    is_over,
)
from accord.schema.validator import JsonSchema, TooComplexError

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
        """The structured content; None if a successful result has none.

        Raises ToolFailedError if the tool failed, and its result has no structured content.
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
"""The timeout for cancelling a task for which its caller has stopped waiting."""

Read = Callable[[Any], ToolResult[Any]]


class RunningTask(ABC, Generic[T]):
    """A tool call that runs as a task on the server.

    `client.task(id)` returns an object for the same task later.
    """

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
        else the maximum duration of this client's calls. Raises the error of a failed call,
        task_cancelled for a cancelled task, and CallTimeoutError after `timeout`.
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
        """Wait for the result; cancel the task if the wait is cancelled or times out.

        The timeout is the maximum duration of this client's calls. `result` cancels nothing.
        """
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
    """A task of the tasks extension (2026-07-28)."""

    def __init__(self, conversation: Conversation, created: TaskCreated, read: Read) -> None:
        super().__init__(conversation, created.task_id, read)
        self._answered: set[str] = set()
        """The keys of answered questions, so that each is answered only once."""
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
    """A task of protocol version 2025-11-25."""

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
        task: GetTaskResult = decode_result(raw, GetTaskResult, "tasks/get")
        self._note(task.status, task.status_message, task.poll_interval, task.ttl)
        return self.status

    async def _wait(self) -> ToolResult[T]:
        # 2025-11-25, tasks: `input_required` is answered on the stream of `tasks/result`.
        while not is_over(await self.refresh()) and self.status != "input_required":
            await self._sleep()
        if self.status == "cancelled":
            raise self._cancelled()
        raw = await self._conversation.ask(
            "tasks/result", {"taskId": self.id}, McpCallOptions(timeout=None)
        )
        self.status = "completed"
        return self._read(raw)


class FinishedTask(RunningTask[T]):
    """A call that the server answered at once, though it was requested as a task."""

    def __init__(self, conversation: Conversation, result: ToolResult[T]) -> None:
        super().__init__(conversation, "", lambda _raw: result)
        self.status = "completed"
        self._result = result

    async def refresh(self) -> TaskStatus:
        return self.status

    async def cancel(self) -> None:
        pass  # it is over

    async def _wait(self) -> ToolResult[T]:
        return self._result


log = logging.getLogger("accord.mcp")

MAX_KNOWN: Final = 100_000
HEADER_MISMATCH: Final = -32020
_METHOD: Final = "tools/call"


class _Result(CallToolResult, frozen=True, kw_only=True, rename="camel"):
    structured_content: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Result).decode


class _WrappedResult(msgspec.Struct, forbid_unknown_fields=True):
    result: Raw


class _ToolFacts:
    """The header parameters and output schema that calls of one tool need."""

    __slots__ = ("output", "parameters")

    def __init__(self, tool: Tool, parameters: tuple[HeaderParameter, ...]) -> None:
        self.parameters = parameters
        self.output = None if tool.output_schema is None else JsonSchema(tool.output_schema)


class Tools:
    """The caller of one server's tools, which stores their definitions."""

    def __init__(
        self, conversation: Callable[[], Conversation], refresh: Callable[[], Awaitable[Any]]
    ) -> None:
        self._conversation = conversation
        self._refresh = refresh
        """Lists all tools of the server again."""
        self._known: dict[str, _ToolFacts] = {}

    def learn(self, listed: ListToolsResult) -> ListToolsResult:
        """Store a page of tool definitions, and return it without invalid definitions.

        A definition is invalid if it describes the HTTP headers of calls wrongly.
        """
        conversation = self._conversation()
        mirrors = conversation.wire.mirrors and conversation.stateless
        usable = []
        for tool in listed.tools:
            try:
                parameters = parameter_headers(tool.input_schema) if mirrors else ()
            except ValueError as error:
                # 2026-07-28, Streamable HTTP: a tool with invalid annotations is excluded from
                # the list, and a warning is logged.
                log.warning("tool %s left out: %s", log_line(tool.name), log_line(str(error)))
                self._known.pop(tool.name, None)
                continue
            usable.append(tool)
            if len(self._known) < MAX_KNOWN:
                self._known[tool.name] = _ToolFacts(tool, parameters)
        return replace(listed, tools=usable)

    async def call(
        self, name: str, arguments: Any, into: Any, options: McpCallOptions
    ) -> ToolResult[Any]:
        """Call a tool and wait for its result, even if the call becomes a task."""
        params = _params(name, arguments)
        conversation = self._conversation()
        if conversation.wire.mirrors:
            answered = await self._ask(name, params, options)
        else:
            raw = await conversation.ask(_METHOD, params, options)
            result = _complete(raw)
            if result is not None:  # the common case
                return self._finish(name, result, into)
            answered = await conversation.settle(_METHOD, params, raw, options)
        if answered.kind == "task":
            return await self._task_in(name, answered, into).wait()
        return self._result(name, answered, into)

    async def start(
        self, name: str, arguments: Any, into: Any, options: McpCallOptions, ttl: float | None
    ) -> RunningTask[Any]:
        """Call a tool as a task."""
        conversation = self._conversation()
        params = _params(name, arguments)
        if conversation.stateless:
            answered = await self._ask(name, params, options)
            if answered.kind == "task":
                return self._task_in(name, answered, into)
            # Tasks extension: the server decides, and may answer without a task.
            return FinishedTask(conversation, self._result(name, answered, into))
        if not conversation.agreement.runs_tools_as_tasks:
            raise lacking("tasks.requests.tools.call", _METHOD)
        params["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
        raw = await conversation.ask(_METHOD, params, options)
        created: CreateTaskResult = decode_result(raw, CreateTaskResult, _METHOD)
        return LegacyTask(conversation, created.task, self._reader(name, into))

    def resume(self, id: str, into: Any) -> RunningTask[Any]:
        """Return the task with the given `id`, whose status has not been fetched yet."""
        conversation = self._conversation()
        kind = ModernTask if conversation.stateless else LegacyTask
        return kind.known_by(conversation, id, self._reader("", into))

    # Requests

    async def _ask(self, name: str, params: dict[str, Any], options: McpCallOptions) -> CallOutcome:
        conversation = self._conversation()
        try:
            headers = self._headers(name, params)
            return await conversation.ask_answering(_METHOD, dict(params), options, headers)
        except RpcError as error:
            if error.code != HEADER_MISMATCH or not error.remote or not conversation.wire.mirrors:
                raise
            # 2026-07-28, Streamable HTTP: list the tools again, then repeat the request with
            # the headers of the new definition.
            await self._refresh()
            headers = self._headers(name, params)
            return await conversation.ask_answering(_METHOD, dict(params), options, headers)

    def _headers(self, name: str, params: Mapping[str, Any]) -> Mapping[str, str] | None:
        known = self._known.get(name)
        if known is None or not known.parameters:
            return None
        plain = {**params, "arguments": to_builtins(params.get("arguments"))}
        version = self._conversation().agreement.version
        return request_headers(_METHOD, plain, known.parameters, version=version)

    # Results

    def _task_in(self, name: str, answered: CallOutcome, into: Any) -> RunningTask[Any]:
        created: TaskCreated = decode_result(answered.raw, TaskCreated, _METHOD)
        return ModernTask(self._conversation(), created, self._reader(name, into))

    def _reader(self, name: str, into: Any) -> Callable[[Any], ToolResult[Any]]:
        return lambda raw: self._read(name, raw, into)

    def _result(self, name: str, answered: CallOutcome, into: Any) -> ToolResult[Any]:
        if answered.kind != "complete":
            raise InvalidResultError(f"the result of {name} is of the unknown type {answered.kind}")
        return self._read(name, answered.raw, into)

    def _read(self, name: str, raw: Any, into: Any) -> ToolResult[Any]:
        return self._finish(name, decode_result(raw, _Result, _METHOD), into)

    def _finish(self, name: str, result: _Result, into: Any) -> ToolResult[Any]:
        known = self._known.get(name)
        structured: Any = result.structured_content
        if not result.is_error and known is not None and known.output is not None:
            _check(name, known.output, structured)
        if structured is not UNSET:
            structured = self._structured(structured, Any if result.is_error else into, name)
        return ToolResult(result.content, structured, is_error=result.is_error, meta=result.meta)

    def _structured(self, raw: Raw, into: Any, name: str) -> Any:
        what = f"the tool {name}"
        try:
            return decode_result(raw, into, what)
        except InvalidResultError as error:
            if self._conversation().stateless:
                raise
            # Up to 2025-11-25 structured content is an object; any other value is its member
            # `result`.
            try:
                return decode_result(decode_result(raw, _WrappedResult, what).result, into, what)
            except InvalidResultError:
                raise error from None


def _complete(raw: Any) -> _Result | None:
    """Return a complete result; None for a result of another type or a malformed one."""
    try:
        result = _decode(raw)
    except REFUSALS:
        return None
    return result if result.result_type == "complete" else None


def _params(name: str, arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name}
    if arguments is not UNSET and arguments is not None:
        params["arguments"] = arguments
    return params


def _check(name: str, schema: JsonSchema, structured: Raw | UnsetType) -> None:
    """Raise InvalidResultError for content that violates the output schema.

    Clients should check structured content against the schema (2026-07-28, tools).
    """
    if structured is UNSET:
        raise InvalidResultError(f"the tool {name} gave no structured content, which it promises")
    try:
        problem = schema.problem(msgspec.json.decode(structured))
    except TooComplexError:
        problem = "it takes too much work to check"
    if problem is not None:
        raise InvalidResultError(f"what the tool {name} gave is not as it promises: {problem}")
