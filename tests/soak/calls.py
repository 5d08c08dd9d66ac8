"""The mix of calls: each kind checks its own answers and says how many calls it made."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from accord import (
    CallTimeoutError,
    InternalError,
    InvalidParamsError,
    MethodNotFoundError,
    Peer,
    RpcError,
)
from tests.soak.service import REFUSED

WORKERS: Final = 16
"""How many calls, or batches of calls, are under way at once on one connection."""
NAP: Final = 0.5
"""Seconds that a call sleeps whose caller does not wait for it."""
SOON: Final = 0.02

Kind = Callable[[Peer, int], Awaitable[int]]


async def inline(peer: Peer, number: int) -> int:
    assert await peer.call("add", [number, 1]) == number + 1
    return 1


async def by_name(peer: Peer, number: int) -> int:
    assert await peer.call("add", {"a": number, "b": 1}, into=int) == number + 1
    return 1


async def in_task(peer: Peer, number: int) -> int:
    text = "x" * (number % 2000)
    assert await peer.call("echo", [text]) == text
    return 1


async def in_thread(peer: Peer, number: int) -> int:
    assert await peer.call("add_in_thread", [number, 1]) == number + 1
    return 1


async def notified(peer: Peer, number: int) -> int:
    await peer.notify("add", [number, 1])
    return 1


async def refused(peer: Peer, number: int) -> int:
    outcomes = await asyncio.gather(peer.call("refuse", [number]), return_exceptions=True)
    error = outcomes[0]
    assert isinstance(error, RpcError)
    assert (error.code, error.data) == (REFUSED, number)
    return 1


async def unknown(peer: Peer, number: int) -> int:
    return await _expect(MethodNotFoundError, peer.call("no_such_method", [number]))


async def invalid(peer: Peer, number: int) -> int:
    return await _expect(InvalidParamsError, peer.call("add", [number, "one"]))


async def crashed(peer: Peer, number: int) -> int:
    return await _expect(InternalError, peer.call("crash"))


async def timed_out(peer: Peer, number: int) -> int:
    return await _expect(CallTimeoutError, peer.call("sleep", [NAP], timeout=SOON))


async def cancelled(peer: Peer, number: int) -> int:
    call = asyncio.ensure_future(peer.call("sleep", [NAP]))
    await asyncio.sleep(0)
    call.cancel()
    return await _expect(asyncio.CancelledError, call)


async def batched(peer: Peer, number: int) -> int:
    async with peer.batch() as batch:
        sums = [batch.call("add", [number, other]) for other in range(8)]
        batch.notify("add", [number, 1])
        wrong = batch.call("no_such_method")
    assert [await one for one in sums] == list(range(number, number + 8))
    await _expect(MethodNotFoundError, wrong.result())
    return 10


async def called_back(peer: Peer, number: int) -> int:
    assert await peer.call("call_back", [number]) == 2 * number
    return 2


async def _expect(kind: type[BaseException], call: Awaitable[object]) -> int:
    try:
        await call
    except kind:
        return 1
    raise AssertionError(f"{kind.__name__} was expected")


WEIGHTS: Final[dict[Kind, int]] = {
    inline: 40,
    by_name: 10,
    in_task: 15,
    in_thread: 4,
    notified: 8,
    refused: 4,
    unknown: 1,
    invalid: 2,
    crashed: 1,
    timed_out: 1,
    cancelled: 2,
    batched: 4,
    called_back: 5,
}


async def make_calls(peer: Peer, count: int, *, seed: int) -> Counter[str]:
    """Make at least `count` calls on one connection; how many there were of each kind."""
    kinds = {kind: weight for kind, weight in WEIGHTS.items() if _possible(kind, peer)}
    made: Counter[str] = Counter()

    async def work(chance: random.Random) -> None:
        while made.total() < count:
            for kind in chance.choices([*kinds], [*kinds.values()], k=64):
                calls = await kind(peer, chance.randrange(1_000_000))
                made[kind.__name__] += calls

    async with asyncio.TaskGroup() as group:
        for worker in range(WORKERS):
            group.create_task(work(random.Random(seed * WORKERS + worker)))
    return made


def _possible(kind: Kind, peer: Peer) -> bool:
    return peer.info.duplex or kind is not called_back
