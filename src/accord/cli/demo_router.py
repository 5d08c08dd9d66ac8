"""The methods that `accord demo` serves: a small router to try clients and transports with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import isfinite
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Raw, Struct, field

from accord.jsonrpc.codec import is_structured
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import InvalidParamsError, RpcError
from accord.jsonrpc.router import Router
from accord.jsonrpc.session import Statistics

LONGEST_SLEEP: Final = 86_400
"""Seconds; no client needs a day, and timers overflow at some point."""

Number: TypeAlias = int | float
_NULL: Final = Raw(b"null")


class Report(Struct, frozen=True, kw_only=True):
    """What `stats` tells about the process that serves."""

    pid: int = 0
    uptime_seconds: float = 0.0
    connections: int = 0
    in_flight: int = 0
    """Calls being handled now, but this one."""
    counts: Statistics = field(default_factory=Statistics)


def demo_router(report: Callable[[], Report] = Report) -> Router:
    """A router with the demo's methods; `stats` answers what `report` gives."""
    router = Router()

    def stats() -> Report:
        """What this process serves and has served."""
        return report()

    for function in (add, subtract, echo, sleep, fail, crash, call_back, stats):
        router.add(function)
    router.add(sum_, "sum")
    return router


def add(a: Number, b: Number) -> Number:
    """The sum of two numbers."""
    return _finite(lambda: a + b)


def subtract(minuend: Number, subtrahend: Number) -> Number:
    """The difference of two numbers."""
    return _finite(lambda: minuend - subtrahend)


def sum_(*numbers: Number) -> Number:
    """The sum of any number of numbers."""
    return _finite(lambda: sum(numbers))


def echo(value: Raw) -> Raw:
    """`value`, to the last digit as it was sent."""
    return value


async def sleep(seconds: Annotated[float, Meta(ge=0, le=LONGEST_SLEEP)]) -> None:
    """Answer after so many seconds."""
    await asyncio.sleep(seconds)


def fail(code: int, message: str, data: Raw = _NULL) -> None:
    """Answer with this error."""
    raise RpcError(message, code=code, data=None if bytes(data) == b"null" else data)


def crash() -> None:
    """Raise something unforeseen."""
    raise RuntimeError("crash() was called")


async def call_back(method: str, context: Context, params: Raw = _NULL) -> Any:
    """Call `method` of the caller, on the same connection, and answer what it answered."""
    if not is_structured(bytes(params)):
        raise InvalidParamsError("params must be an array or an object")
    return await context.call(method, params)


def _finite(calculate: Callable[[], Number]) -> Number:
    """A number that JSON can say. Raises `InvalidParamsError`."""
    try:
        number = calculate()
    except OverflowError:  # an integer that is too large to be added to a fraction
        number = float("inf")
    if isinstance(number, float) and not isfinite(number):
        raise InvalidParamsError("the result is out of range")
    return number
