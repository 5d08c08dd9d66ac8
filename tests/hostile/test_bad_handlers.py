"""Handlers that raise, hang or return what cannot be sent: their caller hears of it, and only he."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest

from accord import Router, ThreadPool
from tests.hostile.attacker import attacking, call, until
from tests.hostile.stage import every_transport, served

BOTH_LOOPS = True
INTERNAL_ERROR, TIMEOUT, BUSY = -32603, -32009, -32010
Mode = Literal["inline", "async", "thread"]

every_mode = pytest.mark.parametrize("mode", ["inline", "async", "thread"])


def add(router: Router, name: str, act: Callable[[], Any], mode: Mode) -> None:
    """A method that runs `act` in the way that `mode` says."""

    async def later() -> Any:
        await asyncio.sleep(0)
        return act()

    router.add(later if mode == "async" else act, name, thread=mode == "thread")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even its name can be told")

    __repr__ = __str__


class Model:
    """Looks like a model of pydantic's, and is none."""

    def model_dump(self, **options: Any) -> Any:
        raise UnprintableError


def recurse() -> Any:
    return recurse()


def raising(kind: type[BaseException], *arguments: Any) -> Callable[[], Any]:
    def act() -> Any:
        raise kind(*arguments)

    return act


def nested() -> Any:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def circular() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


FAULTS: dict[str, Callable[[], Any]] = {
    "raises": lambda: 1 // 0,
    "raises what cannot be printed": raising(UnprintableError),
    "raises a group": raising(ExceptionGroup, "two", [ValueError("a"), KeyError("b")]),
    "raises the end of an iteration": raising(StopIteration, 7),
    "is cancelled by itself": raising(asyncio.CancelledError),
    "recurses for ever": recurse,
    "has no memory": raising(MemoryError),
    "returns an object": partial(object),
    "returns a function": lambda: recurse,
    "returns half a character": lambda: "\ud800",
    "returns a key that is none": lambda: {(1, 2): 3},
    "returns itself within itself": circular,
    "returns what is too deep": nested,
    "returns what fails to be dumped": partial(Model),
}


@pytest.mark.req("F-26", "F-28", "F-30")
@every_mode
@every_transport
async def test_a_handler_that_fails_is_answered_for_and_the_connection_goes_on(
    scheme: str, mode: Mode
) -> None:
    router = Router()
    for name, act in FAULTS.items():
        add(router, name, act, mode)
    async with served(scheme, router) as server, attacking(server.url) as client:
        for name in FAULTS:
            await client.say(call(name, id=name))
            (answer,) = await client.answers(1)
            assert (answer["id"], answer["error"]["code"]) == (name, INTERNAL_ERROR)
            assert answer["error"]["message"] in ("Internal error", "the handler was cancelled")
        assert server.statistics.handlers_failed >= len(FAULTS) - 1
        await client.say(call("plus_one", [1]))
        assert await client.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 2}]


@pytest.mark.req("F-30")
@every_mode
async def test_a_handler_that_fails_in_a_batch_spoils_no_other(mode: Mode) -> None:
    router = Router()
    for name, act in FAULTS.items():
        add(router, name, act, mode)
    calls = [call(name, id=name) for name in FAULTS] + [call("plus_one", [1])]
    async with served("tcp", router) as server, attacking(server.url) as client:
        await client.say(b"[" + b",".join(calls) + b"]")
        (answers,) = await client.answers(1)
        assert [answer["id"] for answer in answers] == [*FAULTS, 1]
        assert [answer.get("result") for answer in answers] == [None] * len(FAULTS) + [2]


@pytest.mark.req("F-13", "F-28")
@every_transport
async def test_a_handler_that_hangs_is_answered_for_at_its_deadline(scheme: str) -> None:
    release = asyncio.Event()
    router = Router()

    @router.method(deadline=0.1)
    async def hang() -> None:
        await release.wait()

    @router.method(deadline=0.1)
    async def refuse_to_end() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass

    async with served(scheme, router) as server, attacking(server.url) as client:
        for method in ("hang", "refuse_to_end"):
            await client.say(call(method))
            (answer,) = await client.answers(1)
            assert answer["error"]["code"] == TIMEOUT
        assert server.statistics.handlers_timed_out == 2
        release.set()


@pytest.mark.req("F-11", "F-13", "F-28")
@every_transport
async def test_handlers_that_hang_in_the_pool_take_nothing_but_its_threads(scheme: str) -> None:
    release = threading.Event()
    router = Router()
    router.add(release.wait, "hang", thread=True, deadline=0.3)

    @router.method
    async def soon() -> str:
        await asyncio.sleep(0)
        return "soon"

    pool = ThreadPool(threads=2, queued=4)
    try:
        async with served(scheme, router, threads=pool) as server:
            asking = [asyncio.create_task(_ask(server.url, "hang")) for _ in range(2)]
            await until(lambda: server.in_flight == 2 and pool.waiting == 0)
            asking += [asyncio.create_task(_ask(server.url, "hang")) for _ in range(58)]
            answers = await asyncio.gather(*asking)
            codes = sorted(answer["error"]["code"] for answer in answers)
            # Two run and four wait, until their time is up; all others are refused at once.
            assert codes == [BUSY] * 54 + [TIMEOUT] * 6
            assert await _ask(server.url, "soon") == {"jsonrpc": "2.0", "id": 1, "result": "soon"}
            release.set()
            await until(lambda: pool.waiting == 0)
            assert await _ask(server.url, "hang") == {"jsonrpc": "2.0", "id": 1, "result": True}
    finally:
        release.set()


async def _ask(url: str, method: str) -> Any:
    async with attacking(url) as client:
        await client.say(call(method))
        (answer,) = await client.answers(1)
        return answer
