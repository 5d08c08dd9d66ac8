"""A function of the application that serves requests, and how it is run.

What a caller gives is decoded into the annotated types; what else the function wants is
injected. A plain function runs in a thread unless it is declared to be quick, an async one
on the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from accord.jsonrpc.call_plan import Planner
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.interceptors import Mode, is_async
from accord.jsonrpc.parameters import Parameter, Signature, read_signature
from accord.mcp.server.context import Context
from accord.mcp.server.injection import Injection


class Handler:
    """One function as it is served."""

    __slots__ = ("_bind", "_injection", "function", "mode", "parameters", "returns", "timeout")

    def __init__(
        self, function: Callable[..., Any], *, inline: bool = False, timeout: float | None = None
    ) -> None:
        self.function = function
        self.mode: Mode = "async" if is_async(function) else "inline" if inline else "thread"
        if inline and self.mode == "async":
            raise RegistrationError("it is async, and inline=True is for plain functions")
        signature = read_signature(function)
        self._injection = Injection(signature)
        self.parameters = tuple(map(_by_name, self._injection.visible))
        """What callers give, each by name."""
        self.returns = signature.returns
        self.timeout = timeout
        visible = Signature(self.parameters, None, signature.returns, self._injection.names)
        self._bind = Planner(visible).plan(partial(partial, function))

    def bind(self, arguments: bytes | Raw) -> partial[Any]:
        """The call with these arguments, an object. Raises `InvalidParamsError`."""
        bound: partial[Any] = self._bind(arguments, None)
        return bound

    def begin(self, bound: partial[Any], context: Context) -> Any:
        """The result of a quick function, or else a coroutine that gives the result."""
        if self._injection.has_dependencies:
            return self._run_with_dependencies(bound, context)
        injected = self._injection.contexts(context)
        if injected:
            bound = partial(bound, **injected)
        if self.mode == "inline":
            return bound()
        return self._run(bound, context)

    def _start(self, bound: Callable[[], Any], context: Context) -> Awaitable[Any]:
        return bound() if self.mode == "async" else context.in_thread(bound)

    async def _run(self, bound: Callable[[], Any], context: Context) -> Any:
        if self.timeout is None:
            return await self._start(bound, context)
        async with asyncio.timeout(self.timeout):
            return await self._start(bound, context)

    async def _run_with_dependencies(self, bound: partial[Any], context: Context) -> Any:
        async with AsyncExitStack() as stack:
            values = await self._injection.resolve(context, stack, {})
            bound = partial(bound, **values)
            return bound() if self.mode == "inline" else await self._run(bound, context)


def _by_name(parameter: Parameter) -> Parameter:
    if parameter.kind == "positional_only":
        raise RegistrationError(
            f"parameter '{parameter.name}' is positional-only, and arguments come by name"
        )
    if parameter.kind == "var_positional":
        raise RegistrationError(f"'*{parameter.name}' takes no names, and arguments come by name")
    return parameter if parameter.kind == "var_keyword" else replace(parameter, kind="keyword_only")
