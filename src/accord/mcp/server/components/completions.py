"""Completions of arguments: functions of the application, and enumerable annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from accord.jsonrpc.methods.method import where
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.messages import CompleteParams, PromptReference
from accord.mcp.server.components.handler import Handler
from accord.mcp.server.context import Context
from accord.schema.schema import DEFINITIONS
from accord.schema.types import accepts

_KNOWN = ("value", "arguments", "of", "argument")


class Completions:
    """Handlers by prompt or template and argument; the most specific one is used."""

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, str], Handler] = {}

    def __len__(self) -> int:
        return len(self._handlers)

    def add(self, function: Callable[..., Any], *, of: str = "", argument: str = "") -> None:
        """Let `function(value)` complete `argument` of the prompt or URI template `of`.

        It may also take `arguments`, those that are filled in already, and `of` and `argument`.
        Raises RegistrationError if it takes anything else, or if there is one already.
        """
        handler = Handler(function)
        other = [each.name for each in handler.parameters if each.name not in _KNOWN]
        if other:
            raise RegistrationError(
                f"completion ({where(function)}): nobody gives its parameter '{other[0]}'; "
                f"there are {', '.join(_KNOWN)}"
            )
        if (of, argument) in self._handlers:
            raise RegistrationError(f"something completes '{argument}' of '{of}' already")
        self._handlers[of, argument] = handler

    def complete(
        self, params: CompleteParams, context: Context, choices: Mapping[str, Sequence[str]]
    ) -> Any:
        """Return suggestions for an argument, or a coroutine of them.

        Without a handler they come from `choices`.
        """
        of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        name = params.argument.name
        for key in ((of, name), (of, ""), ("", name), ("", "")):
            handler = self._handlers.get(key)
            if handler is not None:
                return self._ask(handler, of, params, context)
        return matching(params.argument.value, choices.get(name, ()))

    def _ask(self, handler: Handler, of: str, params: CompleteParams, context: Context) -> Any:
        known = {
            "value": params.argument.value,
            "arguments": params.context.arguments,
            "of": of,
            "argument": params.argument.name,
        }
        wanted = {each.name for each in handler.parameters}
        given = {name: value for name, value in known.items() if name in wanted}
        return handler.begin(handler.bind(encode(given), context), context)


def matching(typed: str, choices: Sequence[str]) -> list[str]:
    """Return the choices that start with the typed text.

    If none do, return the choices that contain it.
    """
    wanted = typed.casefold()
    found = [each for each in choices if each.casefold().startswith(wanted)]
    return found or [each for each in choices if wanted in each.casefold()]


def choices_of(parameters: Sequence[Parameter]) -> dict[str, tuple[str, ...]]:
    """Return the choices of parameters with literals, enumerations or bool."""
    found = {
        each.name: _choices(accepts(each.annotation).value, accepts(each.annotation).definitions)
        for each in parameters
        if each.kind != "var_keyword"
    }
    return {name: choices for name, choices in found.items() if choices}


def _choices(value: Any, definitions: Mapping[str, Any], depth: int = 0) -> tuple[str, ...]:
    if not isinstance(value, dict) or depth > 16:
        return ()
    if "$ref" in value:
        target = definitions.get(value["$ref"].removeprefix(DEFINITIONS))
        return _choices(target, definitions, depth + 1)
    if "enum" in value:
        return tuple(_text(each) for each in value["enum"] if each is not None)
    if "const" in value:
        return (_text(value["const"]),)
    if value.get("type") == "boolean":
        return ("true", "false")
    several = value.get("anyOf") or value.get("oneOf") or ()
    return tuple(choice for each in several for choice in _choices(each, definitions, depth + 1))


def _text(value: Any) -> str:
    """Return a choice as the user types it."""
    return value if isinstance(value, str) else encode(value).decode()
