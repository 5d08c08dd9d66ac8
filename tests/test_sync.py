"""The blocking face of a peer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from accord import (
    CallTimeoutError,
    ConnectError,
    Context,
    MethodNotFoundError,
    Router,
    State,
    serve,
)
from accord.sync import connect


@pytest.fixture
def url() -> Iterator[str]:
    """A server in a thread of its own."""
    router = Router()
    router.add(lambda a, b: a + b, name="add")
    told: list[str] = []
    router.add(told.append, name="tell")
    router.add(lambda: told, name="told")

    @router.method
    async def call_back(context: Context) -> int:
        result: int = await context.call("answer")
        return result + 1

    @router.method
    async def hang() -> None:
        await asyncio.Event().wait()

    ready: threading.Event = threading.Event()
    urls: list[str] = []
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        async with serve(router, "tcp://127.0.0.1:0", drain=0) as server:
            urls.append(server.url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert ready.wait(10)
    yield urls[0]
    loop, stop = stops[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)


@pytest.mark.req("F-10", "F-12")
def test_calls_block_and_return_and_raise_as_the_async_ones_do(url: str) -> None:
    router = Router()
    router.add(lambda: 41, name="answer")
    with connect(url, router) as peer:
        assert peer.state is State.CONNECTED
        assert peer.call("add", [1, 2], into=int) == 3
        peer.notify("tell", ["x"])
        assert peer.call("told") == ["x"]
        assert peer.call("call_back") == 42
        with pytest.raises(MethodNotFoundError):
            peer.call("nope")
        with pytest.raises(CallTimeoutError):
            peer.call("hang", timeout=0.02)
        assert peer.statistics.calls_timed_out == 1
    assert peer.state.value == "closed"


@pytest.mark.req("F-10")
def test_one_peer_serves_many_threads(url: str) -> None:
    results: list[int] = []
    with connect(url) as peer:

        def work(n: int) -> None:
            results.extend(peer.call("add", [n, k]) for k in range(10))

        threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == sorted(100 * n + k for n in range(5) for k in range(10))


def test_a_failure_to_connect_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ConnectError, match="nobody listens"):
        connect("memory:nowhere")
