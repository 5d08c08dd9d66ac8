"""Tools: their definitions, conditions and calls, and tools made from functions."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from operator import is_not
from typing import Any, Final, TypedDict

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.methods.method import where
from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError, RpcError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import Icon, Meta
from accord.mcp.protocol.definitions import TaskSupport, Tool, ToolAnnotations
from accord.mcp.protocol.messages import CallToolResult, Profile, failure
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.content import Output, error_result, output_of, structured_by
from accord.mcp.server.components.handler import Handler
from accord.mcp.server.components.parameters import checked_input, input_schema, output_schema
from accord.mcp.server.components.registry import Allow, Enabled, check_allow
from accord.mcp.server.context import Context
from accord.schema.validator import JsonSchema, TooComplexError

log = logging.getLogger("accord.mcp")

_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,128}")
"""The characters that names should consist of (2025-11-25, tools)."""


class ToolError(Exception):
    """An error for the model to read: its text becomes the tool's result."""


class ToolOptions(TypedDict, total=False):
    """Options of a tool."""

    title: str
    """The tool's name for people."""
    description: str | None
    """The tool's description for the model; by default the function's docstring."""
    annotations: ToolAnnotations | None
    """Hints about the tool's side effects."""
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of the tool's definition."""
    inline: bool
    """For quick plain functions: run on the event loop instead of a thread."""
    timeout: float | None
    """Time limit of a call in seconds, None for unlimited; by default the server's limit."""
    concurrency: int | None
    """Limit of concurrent calls, None for unlimited; by default the server's limit."""
    scopes: tuple[str, ...]
    """The scopes that a principal needs to see and call the tool."""
    allow: Allow | None
    """An additional condition for principals to see and call the tool: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request if its client sees the tool."""
    task: TaskSupport
    """Support for calls as tasks: forbidden, optional or required."""
    starts_task: bool
    """True if the function itself begins the task, by `context.start_task()`."""
    input_schema: dict[str, Any] | None
    """A hand-written input schema. The function then takes all arguments as one dict."""
    output_schema: dict[str, Any] | None
    """A hand-written output schema, which results are checked against."""
    structured: bool
    """True to send results as structured content if their type allows it."""


class ServedTool:
    """One tool of a server; subclasses implement `call`."""

    __slots__ = (
        "allow",
        "concurrency",
        "definition",
        "enabled",
        "is_quick",
        "running",
        "scopes",
        "starts_task",
        "task_support",
        "timeout",
        "wants_context",
    )

    def __init__(
        self,
        definition: Tool,
        *,
        scopes: tuple[str, ...] | frozenset[str] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        task: TaskSupport = "forbidden",
        starts_task: bool = False,
    ) -> None:
        self.definition = definition
        self.scopes = frozenset(scopes)
        self.allow = check_allow(allow)
        self.enabled = enabled
        self.task_support: TaskSupport = task
        """Support for calls as tasks: forbidden, optional or required."""
        self.starts_task = starts_task
        """True if the function itself begins the task, by `context.start_task()`."""
        self.timeout: float | None | UnsetType = UNSET
        """Time limit of a call in seconds; UNSET for the server's limit."""
        self.concurrency: int | None | UnsetType = UNSET
        """Limit of concurrent calls; UNSET for the server's limit."""
        self.is_quick = False
        """True if `call` returns the result itself."""
        self.wants_context = True
        """True if calls use a context; a call without one cannot ask the client."""
        self.running = 0
        """The number of the tool's calls in flight."""

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        """Return the schema of the tool's structured content for clients of an era."""
        return self.definition.output_schema

    def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult | Awaitable[CallToolResult]:
        """Return the result of a quick tool, or else a coroutine of the result."""
        raise NotImplementedError

    def call_alone(
        self,
        arguments: Raw | UnsetType,
        context: None,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult | Awaitable[CallToolResult]:
        """Call a tool that uses no context; return what `call` returns."""
        raise NotImplementedError


def check_name(noun: str, name: Any) -> str:
    """Return the name of a tool or prompt, and warn about unusual characters.

    Raises RegistrationError if there is no name, as for a lambda, or the name is not a string.
    """
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise RegistrationError(f"a {noun} needs a name, a string that is not empty")
    if not _NAME.fullmatch(name):
        log.warning(
            "%s name %r: clients expect 1 to 128 letters, digits and _ - . /", noun, name[:200]
        )
    return name


def whole_numbers(arguments: bytes | Raw) -> bytes | None:
    """Return a tool's arguments (JSON) with each 3.0 written as 3.

    Return None if there is nothing to replace.

    JSON Schema, section 6.1.1: a number without a fraction is an integer, however it is written,
    and some models write 3.0. The decoder of typed arguments does not accept 3.0 as an integer.
    """
    data = bytes(arguments)
    if sum(map(data.count, (b",", b"[", b"{"))) > _MAX_WALKED:
        again = _without_zeros(data)
        return None if again == data else again
    if b"." not in data and b"e" not in data.lower():
        return None
    try:
        found = msgspec.json.decode(data)
    except REFUSALS:
        return None
    whole = _whole(found)
    return None if whole is found else encode(whole)


def _without_zeros(data: bytes) -> bytes:
    """Return JSON with each 3.0 written as 3, replaced in the text without decoding.

    JSON in which that would be slow is returned unchanged. Walking through a million decoded values
    in Python would take five times as long as serving them.
    """
    if b".0" not in data or b"\0" in data or b"\1" in data:  # JSON never contains those two bytes
        return data
    # Strings between quotes stay unchanged. The two bytes replace escapes meanwhile.
    parts = data.replace(b"\\\\", b"\0").replace(b'\\"', b"\1").split(b'"')
    outside = b'"'.join(parts[::2])
    zeros = outside.count(b".0")
    if zeros == data.count(b".0"):  # none is within a string
        return _cut_zeros(data)
    if not zeros or len(parts) > _MAX_TEXTS:
        return data
    parts[::2] = _cut_zeros(outside).split(b'"')
    return b'"'.join(parts).replace(b"\1", b'\\"').replace(b"\0", b"\\\\")


def _cut_zeros(data: bytes) -> bytes:
    for after in (b",", b"]", b"}", b" ", b"\n", b"\r", b"\t"):
        data = data.replace(b".0" + after, after)
    return data


def _whole(value: Any) -> Any:
    """Return `value` with whole floats as integers; the same object if nothing changes."""
    match value:
        case float() if value.is_integer() and abs(value) < _EXACT:
            return int(value)
        case dict():
            members = {name: _whole(each) for name, each in value.items()}
            changed = any(members[name] is not each for name, each in value.items())
            return members if changed else value
        case list():
            items = [_whole(each) for each in value]
            return items if any(map(is_not, items, value)) else value
        case _:
            return value


_EXACT: Final = 2.0**53
"""The first whole number for which a float may not be exact."""
_MAX_TEXTS: Final = 200
"""Limit of the parts into which quotes divide a JSON text. A text with more parts, in which `.0` is
also within a string, is left unchanged."""
_MAX_WALKED: Final = 64
"""The maximum number of values that are decoded and inspected one by one. Only this inspection
finds 1e2 and 3.00; in JSON with more values the text is edited."""


_NOTHING: Final = b"{}"


class FunctionTool(ServedTool):
    """A tool that calls a function; the options are those of `ToolOptions`."""

    __slots__ = ("_accepts", "_handler", "output")

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        title: str = "",
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: tuple[Icon, ...] = (),
        meta: Meta | None = None,
        inline: bool = False,
        timeout: float | None | UnsetType = UNSET,
        concurrency: int | None | UnsetType = UNSET,
        scopes: tuple[str, ...] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        task: TaskSupport = "forbidden",
        starts_task: bool = False,
        input_schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        structured: bool = True,
    ) -> None:
        name = check_name("tool", getattr(function, "__name__", "") if name is None else name)
        try:
            self._handler = Handler(
                function, inline=inline, timeout=timeout, whole=input_schema is not None
            )
            self.output = _output(self._handler, output_schema, structured=structured)
            schema = _input(self._handler, input_schema)
        except RegistrationError as error:
            raise RegistrationError(f"tool '{name}' ({where(function)}): {error}") from error
        self._accepts = None if input_schema is None else JsonSchema(input_schema)
        if description is None:
            description = self._handler.docstring.text
        super().__init__(
            Tool(
                name=name,
                title=title,
                description=description,
                input_schema=schema,
                annotations=annotations,
                icons=icons,
                meta=meta,
            ),
            scopes=scopes,
            allow=allow,
            enabled=enabled,
            task=task,
            starts_task=starts_task,
        )
        self.timeout = timeout
        self.concurrency = concurrency
        self.is_quick = self._handler.is_quick
        self.wants_context = self._handler.wants_context

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        output = self.output
        if output.written is not None and (era is Era.STATELESS or output.is_object):
            return output.written
        return output_schema(output.schema, era, is_object=output.is_object)

    def call(
        self,
        arguments: Raw | UnsetType,
        context: Context | None,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult | Awaitable[CallToolResult]:
        try:
            if self._accepts is not None:
                self._check(self._accepts, arguments)
            bound = self._handler.bind(_NOTHING if arguments is UNSET else arguments, context)
        except InvalidParamsError as error:
            again = None if arguments is UNSET else whole_numbers(arguments)
            if again is not None:
                return self.call(Raw(again), context, era, profile)
            return refused_arguments(error, era, profile)
        try:
            if self.is_quick:
                value = bound()
                if not hasattr(value, "__await__"):
                    return self.output.convert(value, era)
            else:
                value = bound if self._handler.is_direct else self._handler.begin(bound, context)
            return self._finish(value, era)
        except Exception as error:  # noqa: BLE001 - a tool's function may raise anything
            return self._failed(error)

    call_alone = call

    async def _finish(self, value: Awaitable[Any], era: Era) -> CallToolResult:
        try:
            return self.output.convert(await value, era)
        except Exception as error:  # noqa: BLE001 - a tool's function may raise anything
            return self._failed(error)

    def _check(self, schema: JsonSchema, arguments: Raw | UnsetType) -> None:
        decoded = msgspec.json.decode(_NOTHING if arguments is UNSET else arguments)
        try:
            problem = schema.problem(decoded)
        except TooComplexError:
            problem = "they take too much work to check"
        if problem is not None:
            raise InvalidParamsError(f"arguments: {problem}")

    def _failed(self, error: Exception) -> CallToolResult:
        if isinstance(error, RpcError):
            raise error
        if isinstance(error, ToolError):
            return error_result(str(error))
        if isinstance(error, TimeoutError) and isinstance(self.timeout, int | float):
            return late_result(self.timeout)
        return failed_result(self.definition.name, error)


def refused_arguments(error: InvalidParamsError, era: Era, profile: Profile) -> CallToolResult:
    """Return the result of a tool call with wrong arguments.

    Raises RpcError for clients of the handshake era if the server uses the extended error codes
    (`profile`).
    """
    if profile == "extended" and era is Era.HANDSHAKE:
        raise failure("invalid_tool_arguments", error.message, era=era, profile=profile)
    # 2025-11-25, tools: the model can correct arguments that it reads about.
    return error_result(error.message)


def late_result(seconds: float) -> CallToolResult:
    """Return the result of a tool call that timed out after `seconds`."""
    return error_result(f"The tool took longer than {seconds:g} s.")


def failed_result(name: str, error: Exception) -> CallToolResult:
    """Return the result of a tool call that failed, and log the error.

    The client gets only a correlation id, which the log entry has too.
    """
    correlation_id = secrets.token_hex(8)
    log.error("tool %s failed [%s]", name, correlation_id, exc_info=error)
    return error_result(f"The tool failed. The server's log has the details: {correlation_id}")


def _input(handler: Handler, schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return input_schema(handler.parameters, handler.docstring.parameters)
    return checked_input(schema)


def _output(handler: Handler, schema: dict[str, Any] | None, *, structured: bool) -> Output:
    if schema is not None:
        return structured_by(schema)
    return output_of(handler.returns, structured=structured)
