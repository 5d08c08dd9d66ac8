"""What a message costs: CPU per byte, measured while a dispatcher serves or refuses it.

An input is a message with a part that is repeated: what stands before it, the part, what stands
behind it, with a line `====` between them. It is repeated to 64 KiB. However it is broken, serving
it may cost no more than a few times what the dearest valid messages of that size do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time_ns
from typing import Any, Final

from msgspec import UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from fuzz.targets import Check

LIMITS: Final = Limits(max_batch_items=100)
SIZE: Final = 64 * 1024
MOST_TIMES: Final = 4
"""How many times as much as the dearest valid message one may cost."""
TRIES: Final = 5
"""How often what seems too dear is measured again: whatever else runs can only add to it."""
BETWEEN: Final = b"\n====\n"


@contextmanager
def target() -> Iterator[Check]:
    with asyncio.Runner() as runner:
        yield runner.run(_make_scales()).check


async def _make_scales() -> Scales:
    return Scales()


class Scales:
    """A dispatcher, and what valid messages cost it; implements `Source`."""

    def __init__(self) -> None:
        self._dispatcher = Dispatcher(_router(), limits=LIMITS)
        calls = b",".join([b'{"jsonrpc":"2.0","id":1,"method":"sink","params":[["x"]]}'] * 100)
        dearest = (
            repeated(b'{"jsonrpc":"2.0","id":1,"method":"numbers","params":[[', b"1,", b"1]]}"),
            repeated(b'{"jsonrpc":"2.0","id":1,"method":"sink","params":[[', b'{"":[]},', b"1]]}"),
            b"[%b]" % calls,
        )
        self._most = MOST_TIMES * sum(
            min(self.cost(message) for _ in range(2 * TRIES)) for message in dearest
        )

    def check(self, data: bytes) -> None:
        parts = data.split(BETWEEN, 2)
        message = repeated(*parts, *[b""] * (3 - len(parts)))
        cost = self.cost(message)
        for _ in range(TRIES - 1):
            if cost <= self._most:
                return
            cost = min(cost, self.cost(message))
        assert cost <= self._most, f"it costs {cost:,} ns; {self._most:,} would be much"

    def cost(self, message: bytes) -> int:
        """CPU time in nanoseconds."""
        begun = thread_time_ns()
        self._dispatcher.handle(message, self)
        return thread_time_ns() - begun

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=ChannelInfo(scheme="memory"), state={})

    def answer(self, data: bytes | None) -> None:
        raise AssertionError("nothing here takes its time")

    def settle(self, response: Success | Failure | Invalid) -> None:
        pass


def repeated(before: bytes, part: bytes, after: bytes) -> bytes:
    """The message, with the part as often as it fits."""
    times = max(0, SIZE - len(before) - len(after)) // max(1, len(part))
    return before + part * times + after


def _router() -> Router:
    router = Router()

    @router.method
    def sink(data: Any = None, **others: Any) -> None:
        pass

    @router.method
    def numbers(data: list[int], size: int = 0) -> None:
        pass

    @router.method(name="sum")
    def add_up(*values: int) -> None:
        pass

    return router
