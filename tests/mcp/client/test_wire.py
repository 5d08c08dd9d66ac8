"""Two ends in one process whose messages arrive while they are sent."""

from __future__ import annotations

import asyncio

import pytest

from accord import Peer, Router, RpcError, State
from accord.jsonrpc.protocol.channel import Limits
from accord.mcp.client.wire import MAX_DIRECT_DELIVERIES, direct_pair


async def test_an_answer_is_there_when_the_call_has_been_sent() -> None:
    router = Router()
    router.add(lambda: 1, "one")
    near, far = direct_pair(Limits())
    async with Peer(far, router), Peer(near) as peer:
        call = peer.begin("one")
        assert call.done
        assert await call == 1


async def test_others_get_a_turn() -> None:
    router = Router()
    router.add(lambda: 1, "one")
    near, far = direct_pair(Limits())
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with Peer(far, router), Peer(near) as peer:
        task = asyncio.create_task(count())
        for _ in range(10 * MAX_DIRECT_DELIVERIES):
            await peer.call("one")
        task.cancel()
    assert turns >= 10


async def test_messages_keep_their_order_and_the_stack_stays_flat() -> None:
    heard: list[int] = []
    near, far = direct_pair(Limits())
    ours, theirs = Router(), Router()
    done = asyncio.Event()

    @theirs.method
    def ping(number: int) -> None:
        server.post("pong", [number])

    @ours.method
    def pong(number: int) -> None:
        heard.append(number)
        if number < 5_000:
            client.post("ping", [number + 1])
        else:
            done.set()

    async with Peer(far, theirs) as server, Peer(near, ours) as client:
        client.post("ping", [0])
        async with asyncio.timeout(MAX_DIRECT_DELIVERIES):
            await done.wait()
    assert heard == list(range(5_001))


async def test_what_is_too_large_is_refused() -> None:
    router = Router()
    router.add(len, "length")
    near, far = direct_pair(Limits(max_message_bytes=1_000))
    async with Peer(far, router), Peer(near) as peer:
        with pytest.raises(RpcError) as error:
            await peer.call("length", ["x" * 2_000])
        assert error.value.code == -32012


async def test_closing_one_end_ends_both() -> None:
    near, far = direct_pair(Limits())
    one, other = Peer(near), Peer(far)
    await one.close()
    await other.wait_closed()
    assert (one.state, other.state) == (State.CLOSED, State.CLOSED)
    near.send(b"{}")
    await asyncio.sleep(0)
    assert other.statistics.requests_received == 0
