"""Interceptors: functions around calls, which see the arguments by name. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from accord.jsonrpc.methods.binding import Params
from accord.jsonrpc.methods.call_plan import Plan, Planner
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.signature import Signature
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import RegistrationError

Naming: TypeAlias = Callable[[Params], dict[str, Any]]
"""Returns the arguments in params by the names of the parameters."""

_NOBODY = Context("", channel=ChannelInfo(scheme=""))
"""A placeholder for the context among the arguments."""


def naming(signature: Signature, planner: Planner) -> Naming:
    """Return the function that names the arguments for a signature."""
    places = [each.name for each in signature.parameters if each.by_position]
    several = [each.name for each in signature.parameters if each.kind == "var_positional"]
    plan = planner.plan(partial(_name, places, several))
    defaults = {
        each.name: each.default for each in signature.parameters if each.default is not UNSET
    }

    def named(params: Params) -> dict[str, Any]:
        return {**defaults, **plan(params, _NOBODY)}

    return named


def members(params: Params) -> dict[str, Any]:
    """Return the members of the params if they are an object.

    For methods that read their own params.
    """
    decoded = None if params is UNSET else msgspec.json.decode(params)
    return decoded if isinstance(decoded, dict) else {}


def _name(places: list[str], several: list[str], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Collect arguments into a dict by name; called in place of the function."""
    given = [_plain(value) for value in args if value is not _NOBODY]
    found = {name: _plain(value) for name, value in kwargs.items() if value is not _NOBODY}
    found.update(zip(places, given, strict=False))
    found.update((name, given[len(places) :]) for name in several)
    return found


def _plain(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, Raw) else value


Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Calls the next interceptor, or finally the method. May be called again, to retry."""
Interceptor: TypeAlias = Callable[[Context, Proceed], Coroutine[Any, Any, Any]]

Mode: TypeAlias = Literal["inline", "thread", "async", "either"]
"""The way to run a function: in the caller's stack, in the pool of threads, as a coroutine, or in
the caller's stack to return its result or a coroutine."""


def check_interceptor(interceptor: Interceptor) -> None:
    """Raise `RegistrationError` unless the interceptor is an async function."""
    if not is_async(interceptor):
        raise RegistrationError(
            f"the interceptor {interceptor!r} is no async function: "
            "write async def interceptor(context, proceed)"
        )


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling `function` returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is async
    )


def intercept(
    bind: Plan, mode: Mode, interceptors: tuple[Interceptor, ...], naming: Naming
) -> Plan:
    """Return a plan that calls through `interceptors`, the first of them outermost.

    `bind` returns a function without arguments that makes the call, `naming` returns the arguments
    for the interceptors. The plan returns a coroutine; it raises for invalid params before that.
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
