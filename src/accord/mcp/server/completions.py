"""The functions that complete arguments, by what they complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.params import CompleteParams, PromptReference
from accord.mcp.server.context import Context
from accord.mcp.server.handler import Handler


class Completions:
    """Handlers by prompt or template and argument; one without either is asked last."""

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, str], Handler] = {}

    def __len__(self) -> int:
        return len(self._handlers)

    def add(self, function: Callable[..., Any], *, of: str = "", argument: str = "") -> None:
        """Let `function(value)` complete `argument` of the prompt or URI template `of`.

        It may also take `arguments`, those that are filled in already, and `of` and `argument`.
        """
        self._handlers[of, argument] = Handler(function)

    def complete(self, params: CompleteParams, context: Context) -> Any:
        """What the argument could be, or a coroutine of it; nothing where nobody knows."""
        of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        name = params.argument.name
        for key in ((of, name), (of, ""), ("", name), ("", "")):
            handler = self._handlers.get(key)
            if handler is not None:
                return self._ask(handler, of, params, context)
        return []

    def _ask(self, handler: Handler, of: str, params: CompleteParams, context: Context) -> Any:
        known = {
            "value": params.argument.value,
            "arguments": params.context.arguments,
            "of": of,
            "argument": params.argument.name,
        }
        wanted = {each.name for each in handler.parameters}
        given = {name: value for name, value in known.items() if name in wanted}
        return handler.begin(handler.bind(encode(given)), context)
