"""Functions that stand around calls: what they look like, and how they are put together.

An interceptor sees the context of a call whose params have been bound, and its arguments. It
may do something before and after the call, replace its result, or stop it by raising or by
not proceeding.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Literal, TypeAlias

from msgspec import Raw

from accord.jsonrpc.arguments import Naming
from accord.jsonrpc.call_plan import Plan
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.params_form import Params

Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Goes on to the next interceptor, and at last to the method. May be called again, to retry."""
Interceptor: TypeAlias = Callable[[Context, Proceed], Coroutine[Any, Any, Any]]

Mode: TypeAlias = Literal["inline", "thread", "async", "either"]
"""How a function runs: in the caller's stack, in the pool of threads, as a coroutine, or in
the caller's stack to give its result or a coroutine of it."""


def check_interceptor(interceptor: Interceptor) -> None:
    """Raises `RegistrationError` unless it is an async function."""
    if not is_async(interceptor):
        raise RegistrationError(
            f"the interceptor {interceptor!r} is no async function: "
            "write async def interceptor(context, proceed)"
        )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling `function` gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is async
    )


def intercept(
    bind: Plan, mode: Mode, interceptors: tuple[Interceptor, ...], naming: Naming
) -> Plan:
    """A plan that calls through `interceptors`, the first of them outermost.

    `bind` gives a function of no arguments which makes the call, `naming` the arguments for
    the interceptors. What the plan returns is a coroutine; wrong params are raised before it
    is made.
    """
    inwards = interceptors[::-1]

    def call(params: Params, context: Context | None) -> Any:
        assert context is not None
        bound = bind(params, context)
        if isinstance(params, Raw):
            params = bytes(params)  # a copy, or it would keep the receive buffer alive
        context.name_arguments = partial(naming, params)
        proceed: Proceed = bound if mode == "async" else partial(_RUN[mode], bound, context)
        for interceptor in inwards:
            proceed = partial(interceptor, context, proceed)
        return proceed()

    return call


async def _run_inline(bound: Callable[[], Any], context: Context) -> Any:
    return bound()


async def _run_either(bound: Callable[[], Any], context: Context) -> Any:
    result = bound()
    return await result if isinstance(result, Coroutine) else result


async def _run_in_thread(bound: Callable[[], Any], context: Context) -> Any:
    return await context.in_thread(bound)


_RUN = {"inline": _run_inline, "either": _run_either, "thread": _run_in_thread}
