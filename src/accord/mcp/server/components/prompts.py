"""Prompts: their definitions and access conditions, and prompts made from functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypedDict

from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.method import where
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError
from accord.mcp.protocol.content import Icon, Meta
from accord.mcp.protocol.definitions import Prompt, PromptArgument
from accord.mcp.protocol.messages import CompleteParams, GetPromptResult, PromptMessage
from accord.mcp.server.components.content import block_of
from accord.mcp.server.components.handler import Completions, Handler, choices_of
from accord.mcp.server.components.parameters import TextArguments, description_of
from accord.mcp.server.components.registry import Allow, Enabled, check_allow
from accord.mcp.server.components.tools import check_name
from accord.mcp.server.context import Context
from accord.schema.types import accepts


class PromptOptions(TypedDict, total=False):
    """Options of a prompt."""

    title: str
    """The prompt's name for people."""
    description: str | None
    """The prompt's purpose; by default the function's docstring."""
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of the prompt's definition."""
    inline: bool
    """For quick plain functions: run on the event loop instead of a thread."""
    timeout: float | None
    """Time limit in seconds, None for unlimited; by default the server's limit."""
    scopes: tuple[str, ...]
    """The scopes that a principal needs to see and get the prompt."""
    allow: Allow | None
    """An additional condition for principals to see and get the prompt: `lambda principal: …`."""
    enabled: Enabled | None
    """A function that decides by the context of a request if its client sees the prompt."""


class WrongArgumentsError(InvalidParamsError):
    """Arguments of a prompt that do not match the types of its parameters."""


class ServedPrompt:
    """One prompt of a server; subclasses return its messages."""

    __slots__ = ("allow", "choices", "definition", "enabled", "scopes", "timeout")

    def __init__(
        self,
        definition: Prompt,
        *,
        scopes: tuple[str, ...] | frozenset[str] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        timeout: float | None | UnsetType = UNSET,
        choices: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.definition = definition
        self.scopes = frozenset(scopes)
        self.allow = check_allow(allow)
        self.enabled = enabled
        self.timeout = timeout
        self.choices: Mapping[str, Sequence[str]] = choices or {}
        """Possible values of arguments, for completion."""

    def missing(self, arguments: Mapping[str, str]) -> list[str]:
        """Return the names of required arguments that `arguments` does not have."""
        return [
            each.name
            for each in self.definition.arguments
            if each.required and each.name not in arguments
        ]

    def get(
        self, arguments: Mapping[str, str], context: Context
    ) -> GetPromptResult | Awaitable[GetPromptResult]:
        """Return the prompt's messages for these arguments, or a coroutine of them.

        Raises the exceptions of the application's code that makes the messages.
        """
        raise NotImplementedError

    @property
    def completes(self) -> bool:
        """True if the prompt itself can suggest values of arguments."""
        return bool(self.choices)

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        """Return suggestions for an argument, or a coroutine of them."""
        return by.complete(params, context, self.choices)


def user_message(content: Any) -> PromptMessage:
    """Return a message of the user: a text, content, or a value as JSON."""
    return PromptMessage("user", block_of(content))


def assistant_message(content: Any) -> PromptMessage:
    """Return a message of the assistant: a text, content, or a value as JSON."""
    return PromptMessage("assistant", block_of(content))


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
        """Decode the text arguments into the parameters' types, and call the function.

        Raises the function's exceptions, and `WrongArgumentsError` for a text that does not fit its
        parameter.
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
    members = schema if isinstance(schema, dict) else {}
    return PromptArgument(
        name=parameter.name,
        title=members.get("title", ""),
        description=members.get("description", "")
        or description_of(parameter.annotation)
        or otherwise,
        required=parameter.required,
    )
