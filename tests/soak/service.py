"""What is called in a soak: a router for each end, and the child process at the end of a pipe."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from accord import Context, Router, RpcError, method, run
from tests.soak.measures import Held, held

REFUSED = 4001


def server_router() -> Router:
    """The methods of the end that serves."""
    router = Router()
    router.add(add)
    router.add(echo)
    router.register(Sleepers())
    router.add(refuse)
    router.add(crash)
    router.add(call_back)
    router.add(add, "add_in_thread", thread=True)
    router.add(block, thread=True)
    router.add(measure)
    return router


def client_router() -> Router:
    """The methods of the end that calls."""
    router = Router()
    router.add(double)
    return router


def add(a: int, b: int) -> int:
    return a + b


async def echo(text: str) -> str:
    await asyncio.sleep(0)
    return text


class Sleepers:
    """Calls that take their time, counted: their callers may not wait for them."""

    def __init__(self) -> None:
        self._count = 0

    @method
    async def sleep(self, seconds: float) -> None:
        self._count += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._count -= 1

    @method
    def sleeping(self) -> int:
        return self._count


def block(seconds: float) -> None:
    time.sleep(seconds)


def refuse(number: int) -> None:
    raise RpcError(f"{number} is refused", code=REFUSED, data=number)


def crash() -> None:
    raise RuntimeError("this is meant to happen")


async def call_back(number: int, context: Context) -> Any:
    return await context.call("double", [number])


def double(number: int) -> int:
    return 2 * number


async def measure() -> Held:
    return held()


if __name__ == "__main__":
    logging.disable()
    run(server_router(), "stdio:")
