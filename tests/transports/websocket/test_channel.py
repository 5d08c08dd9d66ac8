"""The WebSocket channel on a transport in the test's hand: what it writes, and how it ends."""

from __future__ import annotations

import asyncio
import tracemalloc
from typing import Any

import pytest

from accord.jsonrpc.protocol.channel import MIB, ChannelInfo, Limits
from accord.jsonrpc.protocol.errors import (
    ConnectionLostError,
    FramingError,
    MessageTooLargeError,
    TransportError,
)
from accord.transports.stream.channel import CHUNK
from accord.transports.websocket.channel import Binary, WebSocketChannel, WebSocketSettings
from accord.transports.websocket.frames import (
    Close,
    Event,
    FrameReader,
    Message,
    Opcode,
    Ping,
    Pong,
    close_payload,
    frame,
)
from tests.patience import PATIENCE
from tests.transports.recorder import Echo, Recorder
from tests.transports.wire import Wire

INFO = ChannelInfo(scheme="ws", address="wire")
KEY = b"\x12\x34\x56\x78"
SERVER = WebSocketSettings(serving=True, linger_seconds=0.05)
CLIENT = WebSocketSettings(linger_seconds=0.05)


def make(
    settings: WebSocketSettings = SERVER, *, room: int | None = None
) -> tuple[WebSocketChannel, Wire]:
    channel = WebSocketChannel(INFO, settings)
    return channel, Wire(channel, room=room)


def started(
    settings: WebSocketSettings = SERVER, *, room: int | None = None
) -> tuple[WebSocketChannel, Wire, Recorder]:
    channel, wire = make(settings, room=room)
    receiver = Recorder()
    channel.start(receiver)
    return channel, wire, receiver


def sent(opcode: int, payload: bytes = b"", *, by: WebSocketSettings = CLIENT) -> bytes:
    """A frame as the end with these settings sends it."""
    return frame(opcode, payload, None if by.serving else KEY)


def closing(code: int, reason: str = "", *, by: WebSocketSettings = CLIENT) -> bytes:
    return sent(Opcode.CLOSE, close_payload(code, reason), by=by)


def events(wire: Wire, settings: WebSocketSettings = SERVER) -> list[Event]:
    """What the channel with these settings has written."""
    reader = FrameReader(masked=not settings.serving, max_message_bytes=None)
    return reader.receive(b"".join(wire.writes))


def as_values(error: TransportError | None) -> tuple[type[Exception], str, Any] | None:
    return None if error is None else (type(error), error.message, error.data)


async def a_turn() -> None:
    """Let the loop run what is due now."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


# Messages


@pytest.mark.req("F-23")
async def test_messages_sent_in_one_loop_turn_leave_in_one_write() -> None:
    channel, wire, _ = started()
    for message in (b"1", b"2", b"3"):
        channel.send(message)
    await a_turn()
    assert wire.writes == [b"\x81\x011\x81\x012\x81\x013"]


@pytest.mark.req("F-17", "F-23")
async def test_answers_to_one_read_leave_in_one_write() -> None:
    channel, wire = make()
    channel.start(Echo(channel))
    wire.feed(b"".join(sent(Opcode.TEXT, b"%d" % i) for i in range(3)) + b"\x81")
    assert wire.writes == [b"\x81\x010\x81\x011\x81\x012"]


async def test_a_client_masks_each_frame_with_another_key() -> None:
    channel, wire, _ = started(CLIENT)
    for _ in range(100):
        channel.send(b"same")
    await a_turn()
    assert events(wire, CLIENT) == [Message(b"same", True)] * 100
    data = b"".join(wire.writes)
    assert len({data[i + 2 : i + 6] for i in range(0, len(data), 10)}) == 100


@pytest.mark.parametrize("settings", [SERVER, CLIENT], ids=["server", "client"])
async def test_binary_messages_come_and_leave_as_such(settings: WebSocketSettings) -> None:
    channel, wire = make(settings)
    receiver = Echo(channel)
    channel.start(receiver)
    other = CLIENT if settings.serving else SERVER
    wire.feed(sent(Opcode.BINARY, b"\xff", by=other) + sent(Opcode.TEXT, b"x", by=other))
    assert [type(message) for message in receiver.messages] == [Binary, bytes]
    assert events(wire, settings) == [Message(b"\xff", False), Message(b"x", True)]


@pytest.mark.req("F-29")
async def test_a_message_over_the_limit_is_refused_and_the_next_one_delivered() -> None:
    limits = Limits(max_message_bytes=10)
    _, wire, receiver = started(WebSocketSettings(serving=True, limits=limits))
    wire.feed(sent(Opcode.TEXT, b"x" * 11) + sent(Opcode.TEXT, b"y" * 10))
    (refusal,) = receiver.refusals
    assert isinstance(refusal, MessageTooLargeError)
    assert refusal.message == "message of 11 bytes is over the limit of 10"
    assert refusal.data == {"reason": "message_too_large", "maxSize": 10, "unit": "bytes"}
    assert receiver.messages == [b"y" * 10]


async def test_what_came_before_the_start_is_delivered_at_the_start() -> None:
    channel, wire = make(CLIENT)
    wire.feed(sent(Opcode.TEXT, b"early", by=SERVER) + closing(1000, by=SERVER))
    receiver = Recorder()
    channel.start(receiver)
    assert receiver.messages == [b"early"]
    assert events(wire, CLIENT) == [Close(1000, "")]
    assert await receiver.ended() is None


# Pings


async def test_pings_are_answered_in_order_among_the_messages() -> None:
    channel, wire = make()
    channel.start(Echo(channel))
    wire.feed(sent(Opcode.PING, b"1") + sent(Opcode.TEXT, b"x") + sent(Opcode.PING, b"2"))
    assert events(wire) == [Pong(b"1"), Message(b"x", True), Pong(b"2")]


async def test_a_pong_that_nobody_asked_for_is_ignored() -> None:
    _, wire, receiver = started()
    wire.feed(sent(Opcode.PONG, b"x"))
    assert (wire.writes, receiver.messages, receiver.ends) == ([], [], [])


@pytest.mark.req("F-28")
async def test_pings_to_an_end_whose_writes_are_stuck_are_answered_by_one_pong() -> None:
    channel, wire, _ = started(CLIENT, room=0)
    channel.send(b"x" * CHUNK)
    await a_turn()
    for i in range(1_000):
        wire.feed(sent(Opcode.PING, b"%d" % i, by=SERVER))
    assert not channel.writable
    assert channel._outgoing == []
    wire.take(wire.waiting)
    await a_turn()
    assert events(wire, CLIENT)[1:] == [Pong(b"999")]


@pytest.mark.req("F-28")
async def test_a_server_whose_writes_are_stuck_stops_reading_pings() -> None:
    channel, wire = make(room=0)
    channel.start(Recorder(lambda _: channel.send(b"x" * CHUNK)))
    wire.feed(sent(Opcode.TEXT, b"x") + sent(Opcode.PING) * 1_000)
    assert not wire.reading
    assert events(wire) == [Message(b"x" * CHUNK, True)]
    wire.take(wire.waiting)
    assert events(wire) == [Message(b"x" * CHUNK, True), *[Pong(b"")] * 1_000]


async def test_an_end_that_answers_pings_is_left_alone() -> None:
    settings = WebSocketSettings(serving=True, ping_seconds=0.01)
    _, wire, receiver = started(settings)
    async with asyncio.timeout(PATIENCE):
        while events(wire).count(Ping(b"")) < 5:
            if len(wire.writes) > len(receiver.messages):
                wire.feed(sent(Opcode.PONG))
            await asyncio.sleep(0)
    assert receiver.ends == []


@pytest.mark.req("F-18")
async def test_an_end_that_does_not_answer_a_ping_is_cut() -> None:
    settings = WebSocketSettings(serving=True, ping_seconds=0.01)
    _, wire, receiver = started(settings)
    error = await receiver.ended()
    assert as_values(error) == (
        ConnectionLostError,
        "connection cut: no answer to a ping within 0.01 s",
        {"code": 1006, "reason": ""},
    )
    assert events(wire) == [Ping(b"")]
    assert wire.aborted


async def test_an_end_that_is_closing_is_pinged_no_more() -> None:
    settings = WebSocketSettings(serving=True, ping_seconds=0.01, linger_seconds=0.05)
    channel, wire, receiver = started(settings)
    channel.close()
    assert await receiver.ended() is None
    assert events(wire) == [Close(1000, "")]


async def test_silence_is_not_held_against_an_end_that_is_not_read_from() -> None:
    settings = WebSocketSettings(serving=True, ping_seconds=0.01)
    channel, wire, receiver = started(settings, room=0)
    channel.send(b"x" * CHUNK)
    await asyncio.sleep(0.1)  # ten times what silence may last
    assert receiver.ends == []
    wire.take(wire.waiting)
    await receiver.ended()
    assert events(wire)[1:] == [Ping(b"")]


# Ending


@pytest.mark.req("F-20")
async def test_a_server_that_closes_waits_for_the_other_close_frame_and_ends_the_connection() -> (
    None
):
    channel, wire, receiver = started()
    channel.send(b"last")
    channel.close()
    channel.close()
    channel.send(b"late")
    wire.feed(sent(Opcode.TEXT, b"unread") + sent(Opcode.PING))
    assert not wire.closed
    wire.feed(closing(1000))
    assert wire.closed
    assert await receiver.ended() is None
    assert events(wire) == [Message(b"last", True), Close(1000, "")]
    assert receiver.messages == []


async def test_what_is_queued_leaves_before_the_close_frame() -> None:
    channel, wire, receiver = started(room=0)
    for _ in range(3):
        channel.send(b"x" * CHUNK)
    channel.close()
    assert not wire.reading
    while wire.waiting:
        wire.take(wire.waiting)
    assert events(wire) == [*[Message(b"x" * CHUNK, True)] * 3, Close(1000, "")]
    assert wire.reading
    wire.feed(closing(1000))
    assert await receiver.ended() is None


async def test_a_client_that_closes_lets_the_server_end_the_connection() -> None:
    channel, wire, receiver = started(CLIENT)
    channel.close()
    wire.feed(closing(1000, by=SERVER))
    assert not wire.closed
    assert not channel.eof_received()
    wire.close()
    assert await receiver.ended() is None


@pytest.mark.parametrize("settings", [SERVER, CLIENT], ids=["server", "client"])
async def test_an_end_that_never_answers_a_close_frame_is_not_waited_for(
    settings: WebSocketSettings,
) -> None:
    channel, wire, receiver = started(settings)
    channel.close()
    assert await receiver.ended() is None
    assert wire.closed
    assert events(wire, settings) == [Close(1000, "")]


@pytest.mark.parametrize("settings", [SERVER, CLIENT], ids=["server", "client"])
@pytest.mark.parametrize("code", [1000, 1001, 1005])
async def test_an_orderly_close_frame_is_answered_and_is_no_error(
    settings: WebSocketSettings, code: int
) -> None:
    _, wire, receiver = started(settings)
    wire.feed(closing(code, by=CLIENT if settings.serving else SERVER))
    assert await receiver.ended() is None
    assert events(wire, settings) == [Close(code, "")]


@pytest.mark.req("F-18")
async def test_another_close_code_is_a_lost_connection_with_code_and_reason() -> None:
    _, wire, receiver = started()
    wire.feed(closing(1011, "out of memory"))
    assert as_values(await receiver.ended()) == (
        ConnectionLostError,
        "the other end closed the WebSocket with code 1011: out of memory",
        {"code": 1011, "reason": "out of memory"},
    )
    assert events(wire) == [Close(1011, "")]


@pytest.mark.req("F-18")
async def test_a_close_code_without_a_reason_is_told_alone() -> None:
    _, wire, receiver = started()
    wire.feed(closing(4000))
    error = await receiver.ended()
    assert error is not None
    assert error.message == "the other end closed the WebSocket with code 4000"


@pytest.mark.req("F-18")
@pytest.mark.parametrize("settings", [SERVER, CLIENT], ids=["server", "client"])
async def test_an_end_without_a_close_frame_is_a_lost_connection(
    settings: WebSocketSettings,
) -> None:
    channel, wire, receiver = started(settings)
    assert not channel.eof_received()
    wire.close()
    assert as_values(await receiver.ended()) == (
        ConnectionLostError,
        "the connection ended without a close frame",
        {"code": 1006, "reason": ""},
    )


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (frame(Opcode.TEXT, b"unmasked"), 1002, "frame is not masked"),
        (sent(Opcode.TEXT, b"\xff"), 1007, "text is not UTF-8"),
    ],
)
async def test_a_violation_is_answered_with_its_code_and_ends_the_connection(
    data: bytes, code: int, reason: str
) -> None:
    _, wire, receiver = started()
    wire.feed(sent(Opcode.TEXT, b"good") + data + sent(Opcode.TEXT, b"unread"))
    wire.feed(sent(Opcode.TEXT, b"unread"))
    assert as_values(await receiver.ended()) == (
        FramingError,
        f"the other end breaks the WebSocket protocol: {reason}",
        {"code": code, "reason": reason},
    )
    assert receiver.messages == [b"good"]
    assert events(wire) == [Close(code, reason)]


async def test_a_message_that_has_ended_is_not_kept() -> None:
    _, wire, receiver = started(WebSocketSettings(serving=True, message_seconds=30.0))
    data = sent(Opcode.TEXT, b"x" * MIB)
    tracemalloc.start()
    wire.feed(data[:-1])
    wire.feed(data[-1:])
    receiver.messages.clear()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < MIB


async def test_abort_ends_at_once_and_is_no_error() -> None:
    channel, wire, receiver = started()
    channel.send(b"dropped")
    channel.abort()
    assert await receiver.ended() is None
    await a_turn()
    assert (wire.aborted, wire.writes) == (True, [])


async def test_closing_within_a_callback_sends_what_was_sent_before() -> None:
    channel, wire = make()

    def answer_and_close(message: bytes) -> None:
        channel.send(message)
        channel.close()

    receiver = Recorder(answer_and_close)
    channel.start(receiver)
    wire.feed(sent(Opcode.TEXT, b"1") + sent(Opcode.TEXT, b"2"))
    wire.feed(closing(1000))
    assert await receiver.ended() is None
    assert receiver.messages == [b"1"]
    assert events(wire) == [Message(b"1", True), Close(1000, "")]


# Time


@pytest.mark.req("F-28", "F-30")
async def test_pings_do_not_give_a_slow_message_more_time() -> None:
    settings = WebSocketSettings(serving=True, message_seconds=0.05)
    _, wire, receiver = started(settings)
    begun = bytes([Opcode.TEXT]) + sent(Opcode.TEXT, b"begun")[1:]
    wire.feed(sent(Opcode.TEXT, b"whole") + begun)
    async with asyncio.timeout(PATIENCE):
        while not wire.aborted:
            wire.feed(sent(Opcode.PING))
            await asyncio.sleep(0.005)
    error = await receiver.ended()
    assert error is not None
    assert error.message == "connection cut: a message did not arrive whole within 0.05 s"


async def test_no_timer_is_left_when_all_is_over() -> None:
    loop = asyncio.get_running_loop()
    settings = WebSocketSettings(
        serving=True, message_seconds=30.0, linger_seconds=30.0, ping_seconds=30.0
    )
    channel, wire, receiver = started(settings)
    wire.feed(sent(Opcode.TEXT, b"x" * 10)[:-1])
    channel.close()
    wire.close()
    assert await receiver.ended() is None
    timers: list[asyncio.TimerHandle] = loop._scheduled  # type: ignore[attr-defined]
    assert [timer for timer in timers if not timer.cancelled()] == []
