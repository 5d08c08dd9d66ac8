"""A function of the application as a tool."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.errors import InvalidParamsError, RegistrationError, RpcError
from accord.jsonrpc.method import where
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import TaskSupport, Tool, ToolAnnotations
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.results import CallToolResult
from accord.mcp.protocol.versions import Era
from accord.mcp.server.context import Context
from accord.mcp.server.handler import Handler
from accord.mcp.server.permission import Allow
from accord.mcp.server.registry import Enabled
from accord.mcp.server.tool import ServedTool, ToolError, check_name, whole_numbers
from accord.mcp.server.tool_results import Output, error_result, output_of, structured_by
from accord.mcp.server.tool_schema import checked_input, input_schema, output_schema
from accord.schema.validator import JsonSchema, TooComplexError

log = logging.getLogger("accord.mcp")

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
        except Exception as error:
            return self._failed(error)

    call_alone = call

    async def _finish(self, value: Awaitable[Any], era: Era) -> CallToolResult:
        try:
            return self.output.convert(await value, era)
        except Exception as error:
            return self._failed(error)

    def _check(self, schema: JsonSchema, arguments: Raw | UnsetType) -> None:
        given = msgspec.json.decode(_NOTHING if arguments is UNSET else arguments)
        try:
            problem = schema.problem(given)
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
    """Return the result of a call with wrong arguments.

    Raises RpcError where the profile wants that.
    """
    if profile == "extended" and era is Era.HANDSHAKE:
        raise failure("invalid_tool_arguments", error.message, era=era, profile=profile)
    # 2025-11-25, tools: the model can correct arguments that it reads about.
    return error_result(error.message)


def late_result(seconds: float) -> CallToolResult:
    """Return the result of a call that timed out."""
    return error_result(f"The tool took longer than {seconds:g} s.")


def failed_result(name: str, error: Exception) -> CallToolResult:
    """Return the result of a call that failed, and log the details.

    The client gets only a correlation id.
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
