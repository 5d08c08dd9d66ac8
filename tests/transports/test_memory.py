"""The channel in memory."""

from __future__ import annotations

import asyncio

import pytest

from accord import Limits, ServerLimits
from accord.jsonrpc.protocol.channel import Channel
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.memory import HIGH_WATER, listen_memory, memory_pair, open_memory
from accord.transports.options import Options
from tests.transports.recorder import Recorder


@pytest.mark.req("F-17", "F-19")
async def test_messages_arrive_in_order_and_an_orderly_end_after_them() -> None:
    one, two = memory_pair()
    recorder, other = Recorder(), Recorder()
    one.send(b"1")
    two.start(recorder)
    one.start(other)
    one.send(b"2")
    one.close()
    one.send(b"too late")
    assert await recorder.ended() is None
    assert await other.ended() is None
    assert recorder.messages == [b"1", b"2"]
    assert recorder.ends == [None]


async def test_abort_drops_what_is_queued() -> None:
    one, two = memory_pair()
    recorder = Recorder()
    two.start(recorder)
    one.start(Recorder())
    one.send(b"1")
    one.abort()
    await recorder.ended()
    assert recorder.messages == []


@pytest.mark.req("F-28")
async def test_a_sender_is_told_when_the_other_end_lags_and_when_it_has_caught_up() -> None:
    one, two = memory_pair()
    sender = Recorder()
    one.start(sender)
    one.send(b"x" * (HIGH_WATER + 1))
    one.send(b"x")
    assert not one.writable
    two.start(Recorder())
    await sender.until(lambda: one.writable)
    assert sender.writable_changes == [False, True]


@pytest.mark.req("F-29")
async def test_a_message_over_the_limit_is_refused_and_the_next_one_arrives() -> None:
    one, two = memory_pair(other_limits=Limits(max_message_bytes=2))
    recorder = Recorder()
    one.start(Recorder())
    two.start(recorder)
    one.send(b"123")
    one.send(b"12")
    await recorder.received(1)
    assert recorder.messages == [b"12"]
    assert [error.data for error in recorder.refusals] == [
        {"reason": "message_too_large", "maxSize": 2, "unit": "bytes"}
    ]


async def test_a_limit_of_none_lets_everything_through() -> None:
    one, two = memory_pair(other_limits=Limits(max_message_bytes=None))
    recorder = Recorder()
    two.start(recorder)
    one.start(Recorder())
    one.send(b"x" * 2**21)
    assert [len(message) for message in await recorder.received(1)] == [2**21]


@pytest.mark.req("F-19")
async def test_a_listener_is_found_by_its_name_until_it_closes() -> None:
    accepted: list[Channel] = []
    listener = await listen_memory("memory:here", accepted.append, Options())
    with pytest.raises(ConnectError, match="memory:here is taken"):
        await listen_memory("memory:here", accepted.append, Options())
    channel = await open_memory("memory:here", Options())
    assert listener.connections == len(accepted) == 1
    channel.start(Recorder())
    channel.close()
    await listener.close()
    with pytest.raises(ConnectError, match="nobody listens on memory:here"):
        await open_memory("memory:here", Options())


@pytest.mark.req("F-28")
async def test_a_listener_refuses_more_connections_than_its_limit() -> None:
    accepted: list[Channel] = []
    options = Options(server_limits=ServerLimits(max_connections=1))
    listener = await listen_memory("memory:one", accepted.append, options)
    channel = await open_memory("memory:one", options)
    with pytest.raises(ConnectError, match="1 connections, the limit"):
        await open_memory("memory:one", options)
    channel.start(Recorder())
    accepted[0].start(Recorder())
    channel.close()
    await asyncio.sleep(0)
    await open_memory("memory:one", options)
    await listener.close()
