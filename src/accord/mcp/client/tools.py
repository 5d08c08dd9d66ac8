"""Tool calls, with the headers and the result checks that a tool's definition demands.

Definitions are known for listed tools only. An unlisted tool can be called too; its result is then
not compared with a schema, and a server that requires headers for it refuses the call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType, to_builtins
from msgspec.structs import replace

from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.jsonrpc.protocol.errors import InvalidResultError, RpcError, log_line
from accord.jsonrpc.runtime.calls import decode_result
from accord.mcp.client.calls import CallOptions, CallOutcome, Conversation
from accord.mcp.client.tasks import FinishedTask, LegacyTask, ModernTask, RunningTask, ToolResult
from accord.mcp.client.wire import lacking
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.headers import HeaderParameter, parameter_headers, request_headers
from accord.mcp.protocol.messages import CallToolResult, ListToolsResult
from accord.mcp.protocol.tasks import CreateTaskResult, TaskCreated
from accord.schema.validator import JsonSchema, TooComplexError

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
    """The header parameters and the output schema of one tool."""

    __slots__ = ("output", "parameters")

    def __init__(self, tool: Tool, parameters: tuple[HeaderParameter, ...]) -> None:
        self.parameters = parameters
        self.output = None if tool.output_schema is None else JsonSchema(tool.output_schema)


class Tools:
    """The tools of one server."""

    def __init__(
        self, conversation: Callable[[], Conversation], refresh: Callable[[], Awaitable[Any]]
    ) -> None:
        self._conversation = conversation
        self._refresh = refresh
        """Lists all tools again."""
        self._known: dict[str, _ToolFacts] = {}

    def learn(self, listed: ListToolsResult) -> ListToolsResult:
        """Store a page of definitions, and return it without the unusable ones."""
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
        self, name: str, arguments: Any, into: Any, options: CallOptions
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
        self, name: str, arguments: Any, into: Any, options: CallOptions, ttl: float | None
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
        """Return the task with an id; its status is unknown yet."""
        conversation = self._conversation()
        kind = ModernTask if conversation.stateless else LegacyTask
        return kind.known_by(conversation, id, self._reader("", into))

    # Requests

    async def _ask(self, name: str, params: dict[str, Any], options: CallOptions) -> CallOutcome:
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

    2026-07-28, tools: clients should compare both.
    """
    if structured is UNSET:
        raise InvalidResultError(f"the tool {name} gave no structured content, which it promises")
    try:
        problem = schema.problem(msgspec.json.decode(structured))
    except TooComplexError:
        problem = "it takes too much work to check"
    if problem is not None:
        raise InvalidResultError(f"what the tool {name} gave is not as it promises: {problem}")
