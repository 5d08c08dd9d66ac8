"""Middleware: functions of the application around every request.

    @server.middleware
    async def timed(request, proceed):
        began = monotonic()
        try:
            return await proceed()
        finally:
            log.info("%s took %f s", request.method, monotonic() - began)

The first one added is outermost. Each may proceed, with other params if needed, may change the
result, and may stop the request by raising or by not proceeding. Notifications bypass
middleware.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.methods.method import is_async
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.mcp.protocol.messages import Params
from accord.mcp.server.context import Context


class Request(Struct, frozen=True):
    """An admitted request, as middleware sees it."""

    method: str
    params: Any
    """Typed, such as `CallToolParams`; `arguments` of a tool are raw JSON."""
    context: Context
    """The context that the handler gets too."""


class Proceed(Protocol):
    """The next middleware, or the method itself."""

    def __call__(self, params: Params | None = None) -> Awaitable[Any]:
        """Return the result, such as a `CallToolResult`.

        `params` replaces the request's params; `msgspec.structs.replace` makes them. May be called
        again, to retry.
        """


Middleware: TypeAlias = Callable[[Request, Proceed], Coroutine[Any, Any, Any]]


def check_middleware(function: Middleware) -> None:
    """Raise `RegistrationError` unless `function` is async."""
    if not is_async(function):
        raise RegistrationError(
            f"the middleware {function!r} is no async function: "
            "write async def middleware(request, proceed)"
        )


def through(
    middleware: Sequence[Middleware], request: Request, serve: Callable[[Any], Awaitable[Any]]
) -> Awaitable[Any]:
    """Return the result of `serve`, called through all of `middleware`."""
    if not middleware:
        return serve(request.params)
    first, rest = middleware[0], middleware[1:]

    def proceed(params: Params | None = None) -> Awaitable[Any]:
        going_on = request if params is None else replace(request, params=params)
        return through(rest, going_on, serve)

    return first(request, proceed)
