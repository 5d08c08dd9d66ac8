"""Accord from request bytes to response bytes, without a connection: one message or a batch."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial

from msgspec import UnsetType

from accord import Context, Limits
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from benchmarks.ours.server import inline, tasks
from benchmarks.peers.slices import measure, repeat

INFO = ChannelInfo(scheme="memory")
AT_ONCE = 16


class Asker:
    """Where the requests come from: waits for those that are not answered at once."""

    def __init__(self) -> None:
        self._missing = 0
        self._all: asyncio.Future[None] | None = None
        self.last: bytes | None = None

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=INFO)

    def answer(self, data: bytes | None) -> None:
        self.last = data
        self._missing -= 1
        if data != EXPECTED:
            raise AssertionError(f"expected {EXPECTED!r}, got {data!r}")
        if not self._missing and self._all is not None:
            self._all.set_result(None)

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("nothing was asked")

    def wait(self, count: int) -> asyncio.Future[None]:
        self._missing = count
        self._all = asyncio.get_running_loop().create_future()
        return self._all


async def by_tasks(count: int) -> None:
    """So many calls of an async method, some at a time."""
    for start in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - start)
        waiting = ASKER.wait(some)
        for _ in range(some):
            answer = DISPATCHER.handle(DATA, ASKER)
            if isinstance(answer, bytes):  # done at once, as eager tasks may be
                ASKER.answer(answer)
        await waiting


async def make(kind: str) -> Dispatcher:
    return Dispatcher(tasks() if kind == "tasks" else inline(), limits=Limits())


def on_loop(loop: asyncio.AbstractEventLoop) -> Callable[[int], None]:
    return lambda count: loop.run_until_complete(by_tasks(count))


DATA = sys.argv[2].encode()
EXPECTED = sys.argv[3].encode()
ASKER = Asker()
with asyncio.Runner() as runner:
    DISPATCHER = runner.run(make(sys.argv[1]))
    if sys.argv[1] == "tasks":
        runner.run(by_tasks(1))
        assert ASKER.last is not None
        measure(ASKER.last.decode(), on_loop(runner.get_loop()))
    else:
        operation = partial(DISPATCHER.handle, DATA, ASKER)
        answer = operation()
        assert isinstance(answer, bytes)
        measure(answer.decode(), repeat(operation, EXPECTED))
