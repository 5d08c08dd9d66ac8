"""A tool as a server has it: its definition, and how it is called."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from inspect import getdoc, isawaitable
from typing import Any

from msgspec import UNSET, Raw, UnsetType, to_builtins

from accord.jsonrpc.errors import InvalidParamsError, RegistrationError, RpcError
from accord.jsonrpc.method import where
from accord.jsonrpc.parameters import Parameter, innermost
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import TaskSupport, Tool, ToolAnnotations
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.results import CallToolResult
from accord.mcp.protocol.versions import Era
from accord.mcp.server.context import Context
from accord.mcp.server.handler import Handler
from accord.mcp.server.tool_results import Output, error_result, output_of
from accord.schema.bundle import Bundle
from accord.schema.types import accepts

log = logging.getLogger("accord.mcp")


class ToolError(Exception):
    """A failure that the model should read: its text is the tool's result."""


class ServedTool:
    """One tool of a server."""

    __slots__ = (
        "_handler",
        "definition",
        "input_schema",
        "output",
        "scopes",
        "starts_task",
        "task_support",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: tuple[Icon, ...] = (),
        meta: Meta | None = None,
        inline: bool = False,
        timeout: float | None = None,
        scopes: tuple[str, ...] = (),
        task: TaskSupport = "forbidden",
        starts_task: bool = False,
    ) -> None:
        name = getattr(function, "__name__", "") if name is None else name
        try:
            self._handler = Handler(function, inline=inline, timeout=timeout)
            self.output = output_of(self._handler.returns)
            schema = input_schema(self._handler.parameters)
        except RegistrationError as error:
            raise RegistrationError(f"tool '{name}' ({where(function)}): {error}") from error
        if description is None:
            description = getdoc(innermost(function)) or ""
        self.definition = Tool(
            name=name,
            title=title,
            description=description,
            input_schema=schema,
            annotations=annotations,
            icons=icons,
            meta=meta,
        )
        self.scopes = frozenset(scopes)
        self.task_support: TaskSupport = task
        """Whether calls of it may, or must, run as tasks."""
        self.starts_task = starts_task
        """Whether its function says itself when the task begins, by `context.start_task()`."""

    def call(
        self, arguments: Raw | UnsetType, context: Context, era: Era
    ) -> CallToolResult | Awaitable[CallToolResult]:
        """The result of a quick tool, or else a coroutine that gives it."""
        try:
            bound = self._handler.bind(b"{}" if arguments is UNSET else arguments)
        except InvalidParamsError as error:
            # 2025-11-25, tools: the model can correct arguments that it reads about.
            return error_result(error.message)
        try:
            value = self._handler.begin(bound, context)
            return (
                self._finish(value, era) if isawaitable(value) else self.output.convert(value, era)
            )
        except Exception as error:
            return self._failed(error)

    async def _finish(self, value: Awaitable[Any], era: Era) -> CallToolResult:
        try:
            return self.output.convert(await value, era)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> CallToolResult:
        if isinstance(error, RpcError):
            raise error
        if isinstance(error, ToolError):
            return error_result(str(error))
        if isinstance(error, TimeoutError) and self._handler.timeout is not None:
            return error_result(f"The tool took longer than {self._handler.timeout:g} s.")
        correlation_id = secrets.token_hex(8)
        log.error("tool %s failed [%s]", self.definition.name, correlation_id, exc_info=error)
        return error_result(f"The tool failed. The server's log has the details: {correlation_id}")


def input_schema(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The schema of an object with these members, in JSON Schema 2020-12."""
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    properties: dict[str, Any] = {}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = []
    others: Any = False
    for parameter in parameters:
        value = bundle.add(accepts(parameter.annotation))
        if parameter.kind == "var_keyword":
            others = value
            continue
        properties[parameter.name] = _with_default(value, parameter)
        if parameter.required:
            required.append(parameter.name)
    if required:
        schema["required"] = required
    schema["additionalProperties"] = others
    if bundle.definitions:
        schema["$defs"] = bundle.definitions
    return schema


def output_schema(output: Output, era: Era) -> dict[str, Any] | None:
    """The schema of structured content as a client of that era is told; None without one."""
    if output.schema is None:
        return None
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    value = bundle.add(output.schema)
    schema: dict[str, Any]
    if era is Era.STATELESS:
        schema = dict(value) if isinstance(value, dict) else {}
    elif output.is_object:
        schema = _as_object(value, bundle)
    else:
        schema = {"type": "object", "properties": {"result": value}, "required": ["result"]}
    if bundle.definitions:
        schema["$defs"] = bundle.definitions
    return schema


def _as_object(value: dict[str, Any], bundle: Bundle) -> dict[str, Any]:
    """An object's schema with `type` at its root, where old clients look for it."""
    found = value
    while set(found) == {"$ref"}:
        found = bundle.definitions[found["$ref"].removeprefix("#/$defs/")]
    return dict(found)


def _with_default(value: Any, parameter: Parameter) -> Any:
    if parameter.required or parameter.default is UNSET:
        return value
    try:
        default = to_builtins(parameter.default)
    except TypeError:
        return value
    if isinstance(value, dict):
        return {**value, "default": default}
    return value
