"""A connection that is lost is made anew."""

from __future__ import annotations

import asyncio

import pytest

from accord import (
    Backoff,
    ConnectError,
    ConnectionClosedError,
    ConnectionLostError,
    Peer,
    Router,
    State,
)
from accord.jsonrpc.protocol.channel import Channel
from accord.transports.memory import MemoryChannel, memory_pair
from accord.transports.reconnect import open_reconnecting
from tests.patience import PATIENCE

FAST = Backoff(initial=0.001, longest=0.01)


@pytest.mark.req("F-27")
def test_delays_grow_by_the_multiplier_up_to_the_longest() -> None:
    backoff = Backoff(initial=1.0, multiplier=2.0, longest=10.0, jitter=False)
    assert [backoff.delay(n, 0.5) for n in (1, 2, 3, 4, 5, 10_000)] == [1, 2, 4, 8, 10, 10]


@pytest.mark.req("F-27")
def test_jitter_takes_a_random_part_of_each_delay() -> None:
    backoff = Backoff(initial=1.0, multiplier=2.0)
    assert [backoff.delay(3, chance) for chance in (0.0, 0.25, 1.0)] == [0.0, 1.0, 4.0]


class Server:
    """Answers on one memory channel after another; can be made to refuse."""

    def __init__(self) -> None:
        self.router = Router()
        self.router.add(lambda a, b: a + b, name="add")
        self.refuse: list[Exception] = []
        self.opened = 0
        self.channels: list[MemoryChannel] = []

        @self.router.method
        async def hang() -> None:
            await asyncio.Event().wait()

    async def open(self) -> Channel:
        if self.refuse:
            raise self.refuse.pop(0)
        self.opened += 1
        ours, theirs = memory_pair()
        Peer(theirs, self.router, drain=0)
        self.channels.append(theirs)
        return ours

    def drop(self) -> None:
        self.channels[-1].abort()


@pytest.mark.req("F-18", "F-20", "F-27")
async def test_after_a_loss_pending_calls_fail_and_new_ones_wait_for_the_new_connection() -> None:
    server = Server()
    peer = Peer(await open_reconnecting(server.open, FAST))
    seen: list[State] = []
    peer.observe(lambda state, error: seen.append(state))
    async with peer:
        lost = peer.begin("hang")
        assert await peer.call("add", [1, 2]) == 3
        server.drop()
        with pytest.raises(ConnectionLostError):
            await lost
        assert peer.state is State.CONNECTING
        assert await peer.call("add", [2, 2]) == 4
        assert server.opened == 2
    assert seen == [State.CONNECTING, State.CONNECTED, State.CLOSING, State.CLOSED]


@pytest.mark.req("F-27")
async def test_only_a_call_marked_idempotent_is_sent_again() -> None:
    server = Server()
    gate = asyncio.Event()
    runs: list[str] = []

    @server.router.method
    async def count(name: str) -> int:
        runs.append(name)
        await gate.wait()
        return len(runs)

    async with Peer(await open_reconnecting(server.open, FAST)) as peer:
        once = peer.begin("count", ["once"])
        again = peer.begin("count", ["again"], idempotent=True)
        await peer.call("add", [1, 1])
        server.drop()
        with pytest.raises(ConnectionLostError):
            await once
        await peer.call("add", [1, 1])
        gate.set()
        assert await again == 3
        assert runs == ["once", "again", "again"]


@pytest.mark.req("F-27")
async def test_connecting_is_tried_again_until_the_attempts_are_used_up() -> None:
    server = Server()
    server.refuse = [ConnectError("down"), ConnectError("down")]
    async with Peer(await open_reconnecting(server.open, FAST)) as peer:
        assert await peer.call("add", [1, 2]) == 3
        server.refuse = [ConnectError(f"down {n}") for n in range(5)]
    server.refuse = [ConnectError(f"down {n}") for n in range(5)]
    with pytest.raises(ConnectError, match="down 2"):
        await open_reconnecting(server.open, Backoff(attempts=3, initial=0.001))


@pytest.mark.req("F-27")
async def test_a_fatal_error_is_not_tried_again() -> None:
    server = Server()
    server.refuse = [ConnectError("no such scheme", recoverable=False)]
    with pytest.raises(ConnectError, match="no such scheme"):
        await open_reconnecting(server.open, FAST)
    assert server.opened == 0


@pytest.mark.req("F-27")
async def test_a_peer_closes_for_good_when_reconnecting_fails_for_good() -> None:
    server = Server()
    peer = Peer(await open_reconnecting(server.open, FAST))
    waiting = asyncio.create_task(peer.call("hang", idempotent=True))
    await peer.call("add", [1, 1])
    server.refuse = [ConnectError("gone", recoverable=False)]
    server.drop()
    with pytest.raises(ConnectionLostError, match="gone"):
        await waiting
    await peer.wait_closed()
    with pytest.raises(ConnectionClosedError):
        await peer.call("add", [1, 1])


async def test_closing_while_reconnecting_ends_at_once() -> None:
    server = Server()
    peer = Peer(await open_reconnecting(server.open, Backoff(initial=60.0, jitter=False)))
    await peer.call("add", [1, 1])
    interrupted = asyncio.Event()
    peer.observe(lambda state, error: interrupted.set())
    server.drop()
    await interrupted.wait()
    await asyncio.wait_for(peer.close(), PATIENCE)
    assert peer.state.value == "closed"
