"""A prompt as a server has it: its definition, and how it is filled in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import getdoc, isawaitable
from typing import Any

from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.method import where
from accord.jsonrpc.parameters import Parameter, innermost
from accord.mcp.protocol.content import Icon, TextContent
from accord.mcp.protocol.definitions import Prompt, PromptArgument
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.results import GetPromptResult, PromptMessage
from accord.mcp.server.context import Context
from accord.mcp.server.handler import Handler
from accord.mcp.server.text_arguments import TextArguments
from accord.mcp.server.tool_results import BLOCKS
from accord.schema.types import accepts


class ServedPrompt:
    """One prompt of a server."""

    __slots__ = ("_arguments", "_handler", "definition", "scopes")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        icons: tuple[Icon, ...] = (),
        meta: Meta | None = None,
        inline: bool = False,
        timeout: float | None = None,
        scopes: tuple[str, ...] = (),
    ) -> None:
        name = getattr(function, "__name__", "") if name is None else name
        try:
            self._handler = Handler(function, inline=inline, timeout=timeout)
        except RegistrationError as error:
            raise RegistrationError(f"prompt '{name}' ({where(function)}): {error}") from error
        self._arguments = TextArguments(self._handler.parameters)
        if description is None:
            description = getdoc(innermost(function)) or ""
        self.definition = Prompt(
            name=name,
            title=title,
            description=description,
            arguments=tuple(
                _argument(each) for each in self._handler.parameters if each.kind != "var_keyword"
            ),
            icons=icons,
            meta=meta,
        )
        self.scopes = frozenset(scopes)

    def missing(self, arguments: Mapping[str, str]) -> list[str]:
        """The required arguments that are not given."""
        return [
            each.name
            for each in self.definition.arguments
            if each.required and each.name not in arguments
        ]

    def get(
        self, arguments: Mapping[str, str], context: Context
    ) -> GetPromptResult | Awaitable[GetPromptResult]:
        """The messages, or a coroutine that gives them. Raises what the function raises, and
        `InvalidParamsError` for arguments that are not of their parameters' types."""
        bound = self._handler.bind(self._arguments.encode(arguments))
        value = self._handler.begin(bound, context)
        return self._finish(value) if isawaitable(value) else self._result(value)

    async def _finish(self, value: Awaitable[Any]) -> GetPromptResult:
        return self._result(await value)

    def _result(self, value: Any) -> GetPromptResult:
        if isinstance(value, GetPromptResult):
            return value
        values = value if isinstance(value, list | tuple) else [value]
        return GetPromptResult(
            description=self.definition.description, messages=list(map(_message, values))
        )


def _message(value: Any) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, BLOCKS):
        return PromptMessage("user", value)
    text = value if isinstance(value, str) else encode(value).decode()
    return PromptMessage("user", TextContent(text=text))


def _argument(parameter: Parameter) -> PromptArgument:
    schema = accepts(parameter.annotation).value
    description = schema.get("description", "") if isinstance(schema, dict) else ""
    return PromptArgument(name=parameter.name, description=description, required=parameter.required)
