"""A function of the application as a prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any

from msgspec import UNSET, UnsetType

from accord.jsonrpc.errors import InvalidParamsError, RegistrationError
from accord.jsonrpc.method import where
from accord.jsonrpc.parameters import Parameter
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import Prompt, PromptArgument
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.results import GetPromptResult, PromptMessage
from accord.mcp.server.completions import choices_of
from accord.mcp.server.context import Context
from accord.mcp.server.handler import Handler
from accord.mcp.server.permission import Allow
from accord.mcp.server.prompt import ServedPrompt, WrongArgumentsError, user_message
from accord.mcp.server.registry import Enabled
from accord.mcp.server.text_arguments import TextArguments
from accord.mcp.server.tool import check_name
from accord.mcp.server.tool_schema import description_of
from accord.schema.types import accepts


class FunctionPrompt(ServedPrompt):
    """A prompt with messages from a function.

    The options are those of `PromptOptions`.
    """

    __slots__ = ("_arguments", "_handler")

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        title: str = "",
        description: str | None = None,
        icons: tuple[Icon, ...] = (),
        meta: Meta | None = None,
        inline: bool = False,
        timeout: float | None | UnsetType = UNSET,
        scopes: tuple[str, ...] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
    ) -> None:
        name = check_name("prompt", getattr(function, "__name__", "") if name is None else name)
        try:
            self._handler = Handler(function, inline=inline, timeout=timeout)
        except RegistrationError as error:
            raise RegistrationError(f"prompt '{name}' ({where(function)}): {error}") from error
        parameters = [it for it in self._handler.parameters if it.kind != "var_keyword"]
        self._arguments = TextArguments(self._handler.parameters)
        if description is None:
            description = self._handler.docstring.text
        super().__init__(
            Prompt(
                name=name,
                title=title,
                description=description,
                arguments=tuple(
                    _argument(each, self._handler.docstring.parameters.get(each.name, ""))
                    for each in parameters
                ),
                icons=icons,
                meta=meta,
            ),
            scopes=scopes,
            allow=allow,
            enabled=enabled,
            timeout=timeout,
            choices=choices_of(parameters),
        )

    def get(
        self, arguments: Mapping[str, str], context: Context
    ) -> GetPromptResult | Awaitable[GetPromptResult]:
        """Call the function with typed arguments.

        Raises the function's exceptions, and `WrongArgumentsError` for arguments of wrong types.
        """
        try:
            bound = self._handler.bind(self._arguments.encode(arguments), context)
        except InvalidParamsError as error:
            raise WrongArgumentsError(error.message, data=error.data) from None
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
    return value if isinstance(value, PromptMessage) else user_message(value)


def _argument(parameter: Parameter, otherwise: str) -> PromptArgument:
    schema = accepts(parameter.annotation).value
    said = schema if isinstance(schema, dict) else {}
    return PromptArgument(
        name=parameter.name,
        title=said.get("title", ""),
        description=said.get("description", "")
        or description_of(parameter.annotation)
        or otherwise,
        required=parameter.required,
    )
