"""The blocking face of a peer."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait

import pytest

from accord import (
    CallTimeoutError,
    ConnectError,
    ConnectionClosedError,
    Context,
    MethodNotFoundError,
    Peer,
    Router,
    RpcError,
    State,
    serve,
)
from accord.jsonrpc.protocol.channel import Receiver
from accord.jsonrpc.runtime.calls import Call, OutgoingBatch
from accord.sync import SyncBatch, SyncCall, SyncPeer, connect
from tests.patience import PATIENCE


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


RECEIVER = {name for name in vars(Receiver) if not name.startswith("_")}
"""What channels tell a peer."""
SOURCE = {"context", "answer", "settle"}
"""What a dispatcher asks of a peer."""
FOR_PROTOCOLS = {"prepare", "prepare_notification", "on_abandoned"}
"""What protocols are built with (MCP, batches), and `SyncPeer.batch` and `begin` use."""


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.req("F-34")
@pytest.mark.parametrize(
    ("blocking", "original", "left_out"),
    [
        (SyncPeer, Peer, RECEIVER | SOURCE | FOR_PROTOCOLS),
        (SyncCall, Call, set()),
        (SyncBatch, OutgoingBatch, set()),
    ],
)
def test_the_blocking_classes_have_all_that_the_others_have(
    blocking: type, original: type, left_out: set[str]
) -> None:
    assert left_out <= public(original), "something is left out that is not there"
    missing = public(original) - left_out - public(blocking)
    assert not missing, f"{blocking.__name__} lacks {sorted(missing)}"
    assert not left_out & public(blocking)
    for name in public(original) - left_out:
        ours, theirs = getattr(blocking, name), getattr(original, name)
        if not inspect.isfunction(theirs):
            continue
        expected = inspect.signature(theirs).parameters
        found = inspect.signature(ours).parameters
        if name == "call_threadsafe":  # which is typed as those of `call` there
            expected = inspect.signature(original.call).parameters  # type: ignore[attr-defined]
        assert [(each.name, each.kind, each.default) for each in found.values()] == [
            (each.name, each.kind, each.default) for each in expected.values()
        ], name


@pytest.mark.req("F-34", "F-08")
def test_a_batch_leaves_as_one_message_and_its_calls_have_results(url: str) -> None:
    with connect(url) as peer:
        with peer.batch() as batch:
            three = batch.call("add", [1, 2])
            wrong = batch.call("nope")
            batch.notify("tell", ["x"])
        assert (three.done, three.method, three.result(int)) == (True, "add", 3)
        assert three.result() == 3
        assert bytes(three.answer()) == b"3"
        with pytest.raises(MethodNotFoundError):
            wrong.result()
        assert peer.call("told") == ["x"]
        with pytest.raises(ZeroDivisionError), peer.batch() as batch:  # noqa: PT012
            given_up = batch.call("add", [1, 2])
            raise ZeroDivisionError
        assert given_up.done
        later = peer.batch()
        four = later.call("add", [2, 2])
        later.send()
        assert four.result() == 4


@pytest.mark.req("F-34")
def test_calls_are_futures_too(url: str) -> None:
    with connect(url) as peer:
        futures = [peer.call_threadsafe("add", [n, n], into=int) for n in range(5)]
        assert [each.result(PATIENCE) for each in futures] == [0, 2, 4, 6, 8]
        call = peer.begin("add", [1, 1], idempotent=True)
        done, _ = wait([call.future(int)], PATIENCE)
        assert [each.result() for each in done] == [2]
        hanging = peer.begin("hang", timeout=60, longest=120)
        assert isinstance(hanging.id, int)
        assert peer.pending == 1
        hanging.extend()
        hanging.cancel()
        with pytest.raises(CancelledError):
            hanging.result()
        failing = peer.begin("hang")
        failing.fail(RpcError("no answer will come", code=7))
        with pytest.raises(RpcError, match="no answer will come"):
            failing.answer()
        unwanted = peer.call_threadsafe("hang")
        unwanted.cancel()
        peer.call("add", [1, 2])  # by then the other thread knows
        assert peer.pending == 0
        assert peer.statistics.calls_abandoned == 2


@pytest.mark.req("F-34")
def test_observers_are_told_of_every_state(url: str) -> None:
    states: list[State] = []
    with connect(url) as peer:
        peer.observe(lambda state, error: states.append(state))
        stop = peer.observe(lambda state, error: states.append(State.CONNECTING))
        stop()
    assert states == [State.CLOSING, State.CLOSED]


@pytest.mark.req("F-34")
def test_what_is_known_and_every_way_to_end(url: str) -> None:
    peer = connect(url)
    assert peer.info.scheme == "tcp"
    assert (peer.pending, peer.in_flight, peer.call_state) == (0, 0, {})
    peer.post("tell", ["posted"])
    peer.send(b'{"jsonrpc":"2.0","method":"tell","params":["sent"]}')
    assert peer.call("told") == ["posted", "sent"]
    assert peer.cancel_incoming(7) is False
    peer.close_soon(drain=0)
    peer.wait_closed()
    assert peer.state is State.CLOSED
    with pytest.raises(ConnectionClosedError):
        peer.begin("told")
    other = connect(url)
    other.abort()
    other.wait_closed()
    assert other.state is State.CLOSED


@pytest.mark.req("F-34")
def test_blocking_in_the_thread_that_would_unblock_it_is_refused(url: str) -> None:
    router = Router()
    peers: list[SyncPeer] = []
    refused: list[str] = []

    @router.method
    def answer() -> int:
        for block in (lambda: peers[0].call("told"), lambda: peers[0].begin("told")):
            try:
                block()
            except RuntimeError as error:
                refused.append(str(error))
        return 41

    with connect(url, router) as peer:
        peers.append(peer)
        assert peer.call("call_back") == 42
    assert len(refused) == 2
    assert all("accord.sync blocks" in each for each in refused)
