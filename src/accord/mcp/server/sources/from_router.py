"""The methods of a JSON-RPC router as tools.

A method runs with the interceptors of its router. The descriptions of a tool come from the metadata
and the docstring of its method.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.context import Context as RpcContext
from accord.jsonrpc.methods.method import Method
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError, RpcError
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.messages import CallToolResult, Profile
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.content import error_result, output_of
from accord.mcp.server.components.parameters import (
    ParsedDocstring,
    input_schema,
    output_schema,
    read_docstring,
)
from accord.mcp.server.components.tools import (
    ServedTool,
    ToolError,
    check_name,
    failed_result,
    late_result,
    refused_arguments,
    whole_numbers,
)
from accord.mcp.server.context import Context

ToolNaming: TypeAlias = Callable[[str], str]

_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_-]+")


def plain_name(name: str) -> str:
    """Return a name with only the characters that all models accept: letters, digits, `_`, `-`."""
    return _UNUSUAL.sub("_", name).strip("_")


def tools_of(
    router: Router,
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    naming: ToolNaming = plain_name,
) -> list[MethodTool]:
    """Return the methods that `router` has now as tools.

    Hidden methods and the methods of the protocol are excluded. `include` and `exclude` are names,
    in which `*` matches any text. Raises `RegistrationError` for a pattern that matches no method,
    and for a method with required parameters that cannot be passed by name.
    """
    methods = {
        name: each
        for name, each in router.methods.items()
        if not each.about.hidden and not each.protocol
    }
    included, excluded = _patterns(include, methods), _patterns(exclude, methods)
    return [
        MethodTool(method, naming(name))
        for name, method in methods.items()
        if (not included or _fits(name, included)) and not _fits(name, excluded)
    ]


class MethodTool(ServedTool):
    """A method of a router as a tool."""

    __slots__ = ("_method", "_output")

    def __init__(self, method: Method, name: str) -> None:
        try:
            self._output = output_of(method.returns)
            schema = _schema(method)
        except RegistrationError as error:
            raise RegistrationError(f"method '{method.name}' as a tool: {error}") from error
        definition = Tool(
            name=check_name("tool", name), description=_description(method), input_schema=schema
        )
        super().__init__(definition)
        self._method = method
        self.timeout = method.deadline

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        return output_schema(self._output.schema, era, is_object=self._output.is_object)

    async def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult:
        params = Raw(b"{}") if arguments is UNSET else arguments
        try:
            return self._output.convert(await self._run(params, context), era)
        except InvalidParamsError as error:
            return refused_arguments(error, era, profile)
        except (RpcError, ToolError) as error:
            return error_result(str(error) if isinstance(error, ToolError) else error.message)
        except Exception as error:  # noqa: BLE001 - a method may raise anything
            if isinstance(error, TimeoutError) and isinstance(self.timeout, int | float):
                return late_result(self.timeout)
            return failed_result(self.definition.name, error)

    async def _run(self, params: Raw, context: Context) -> Any:
        method, outer = self._method, context.incoming.context
        inner = RpcContext(
            method.name,
            outer.id,
            channel=outer.channel,
            headers=outer.headers,
            state=outer.state,
        )
        inner.in_thread = context.in_thread
        async with asyncio.timeout(None if method.deadline is UNSET else method.deadline):
            params = self._whole(params, inner)
            if method.mode == "thread":
                return await context.in_thread(method.bind(params, inner))
            value = method.invoke(params, inner)
            return await value if isawaitable(value) else value

    def _whole(self, params: Raw, context: RpcContext) -> Raw:
        """Return params with each 3.0 written as 3, if the method refuses them unchanged.

        Return params that the method accepts as they are.
        """
        again = whole_numbers(params)
        if again is None:
            return params
        try:
            self._method.bind(params, context)
        except InvalidParamsError:
            return Raw(again)
        return params


def _schema(method: Method) -> dict[str, Any]:
    schema = input_schema(
        tuple(filter(None, map(_by_name, method.parameters))), _docstring(method).parameters
    )
    for name, description in method.about.params.items():
        if isinstance(schema["properties"].get(name), dict):
            schema["properties"][name] = {**schema["properties"][name], "description": description}
    return schema


def _by_name(parameter: Parameter) -> Parameter | None:
    """Return a parameter of a method as a keyword parameter of a tool.

    Return None for an optional parameter that cannot be passed by name; it is never passed. Raises
    RegistrationError for a required parameter that cannot be passed by name.
    """
    if parameter.by_name:
        return replace(parameter, kind="keyword_only")
    if parameter.required:
        raise RegistrationError(f"parameter '{parameter.name}' cannot be given by name")
    return parameter if parameter.kind == "var_keyword" else None


def _docstring(method: Method) -> ParsedDocstring:
    names = [*(each.name for each in method.parameters), "context"]
    return read_docstring(method.doc, names)


def _description(method: Method) -> str:
    about = method.about
    description = "\n\n".join(filter(None, (about.summary, about.description)))
    description = description or _docstring(method).text
    return f"Deprecated. {description}".strip() if about.deprecated else description


def _patterns(names: Iterable[str], methods: Iterable[str]) -> tuple[str, ...]:
    patterns = (names,) if isinstance(names, str) else tuple(names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in methods):
            raise RegistrationError(f"no method fits {pattern!r}")
    return patterns


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
