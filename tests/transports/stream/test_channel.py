"""The stream channel on a transport in the test's hand: what it writes, and when it waits."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.errors import ConnectionLostError, FramingError
from accord.transports.stream import StreamChannel, StreamSettings
from accord.transports.stream.channel import CHUNK
from tests.transports.recorder import Echo, Recorder
from tests.transports.wire import Wire

INFO = ChannelInfo(scheme="tcp", address="wire")
SERVING = StreamSettings(serving=True)


def make(
    settings: StreamSettings = SERVING, *, room: int | None = None
) -> tuple[StreamChannel, Wire]:
    channel = StreamChannel(INFO, settings)
    return channel, Wire(channel, room=room)


async def a_turn() -> None:
    """Let the loop run what is due now."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


# Writing


@pytest.mark.req("F-23")
async def test_messages_sent_in_one_loop_turn_leave_in_one_write() -> None:
    channel, wire = make()
    channel.start(Recorder())
    for message in (b"1", b"2", b"3"):
        channel.send(message)
    assert wire.writes == []
    await a_turn()
    channel.send(b"4")
    await a_turn()
    assert wire.writes == [b"1\n2\n3\n", b"4\n"]


@pytest.mark.req("F-23")
async def test_answers_to_one_read_leave_in_one_write_before_the_callback_returns() -> None:
    channel, wire = make()
    channel.start(Echo(channel))
    wire.feed(b"1\n2\n3\n4")
    assert wire.writes == [b"1\n2\n3\n"]


async def test_long_run_of_messages_is_written_in_chunks() -> None:
    channel, wire = make()
    channel.start(Recorder())
    message = b"x" * (3 * CHUNK)
    channel.send(message)
    assert [len(write) for write in wire.writes] == [CHUNK, CHUNK, CHUNK, 1]
    assert b"".join(wire.writes) == message + b"\n"


async def test_nothing_is_written_after_close_or_abort() -> None:
    for end in (StreamChannel.close, StreamChannel.abort):
        channel, wire = make(StreamSettings())
        receiver = Recorder()
        channel.start(receiver)
        end(channel)
        end(channel)
        channel.send(b"late")
        assert await receiver.ended() is None
        channel.send(b"later")
        channel.close()
        channel.abort()
        await a_turn()
        assert wire.writes == []
        assert receiver.ends == [None]


async def test_close_within_a_callback_sends_what_was_sent_before_it() -> None:
    channel, wire = make(StreamSettings())

    def answer_and_close(message: bytes) -> None:
        channel.send(message)
        channel.close()

    receiver = Recorder(answer_and_close)
    channel.start(receiver)
    wire.feed(b"1\n2\n")
    assert await receiver.ended() is None
    assert wire.writes == [b"1\n"]
    assert receiver.messages == [b"1"]


# Waiting


@pytest.mark.req("F-24")
async def test_stuck_writes_stop_delivery_in_the_middle_of_a_read_where_this_end_serves() -> None:
    channel, wire = make(room=0)
    answer = b"x" * CHUNK
    receiver = Recorder(lambda _: channel.send(answer))
    channel.start(receiver)
    wire.feed(b"1\n2\n3\n")
    assert receiver.messages == [b"1"]
    assert receiver.writable_changes == [False]
    assert not channel.writable
    assert not wire.reading

    wire.take(wire.waiting)
    assert receiver.messages == [b"1", b"2"]
    wire.take(wire.waiting)
    wire.take(wire.waiting)
    assert receiver.messages == [b"1", b"2", b"3"]
    wire.take(wire.waiting)
    wire.take(wire.waiting)
    assert wire.reading
    assert channel.writable
    assert b"".join(wire.writes) == (answer + b"\n") * 3


async def test_calling_end_goes_on_reading_while_its_writes_are_stuck() -> None:
    channel, wire = make(StreamSettings(), room=0)
    receiver = Recorder()
    channel.start(receiver)
    channel.send(b"x" * (2 * CHUNK))
    assert receiver.writable_changes == [False]
    assert wire.reading
    wire.feed(b"answer\n")
    assert receiver.messages == [b"answer"]


@pytest.mark.req("F-24", "F-28")
async def test_connection_is_cut_when_more_waits_than_the_limit() -> None:
    channel, wire = make(StreamSettings(limits=Limits(max_queued_bytes=100_000)), room=0)
    receiver = Recorder()
    channel.start(receiver)
    for _ in range(200):
        channel.send(b"x" * 1000)
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == (
        "connection cut: 100,066 bytes wait to be written, over the limit of 100,000"
    )
    assert error.recoverable
    assert wire.aborted


async def test_one_message_over_the_queue_limit_may_still_be_sent() -> None:
    channel, wire = make(StreamSettings(limits=Limits(max_queued_bytes=1000)), room=0)
    channel.start(Recorder())
    message = b"x" * (2 * CHUNK)
    channel.send(message)
    while not channel.writable:
        wire.take(wire.waiting)
    assert b"".join(wire.writes) == message + b"\n"


@pytest.mark.req("F-24")
async def test_connection_is_cut_when_nothing_is_taken_for_the_stall_time() -> None:
    channel, wire = make(StreamSettings(limits=Limits(write_stall_seconds=0.2)), room=0)
    receiver = Recorder()
    channel.start(receiver)
    started = time.monotonic()
    channel.send(b"x" * (2 * CHUNK))
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "connection cut: the other end has taken nothing for 0.2 s"
    assert time.monotonic() - started >= 0.2
    assert wire.aborted


async def test_slow_reader_that_takes_something_now_and_then_is_not_cut() -> None:
    channel, wire = make(StreamSettings(limits=Limits(write_stall_seconds=2.0)), room=0)
    receiver = Recorder()
    channel.start(receiver)
    channel.send(b"x" * (2 * CHUNK))
    for _ in range(8):
        await asyncio.sleep(0.3)
        wire.take(1)
    assert receiver.ends == []
    channel.abort()
    await receiver.ended()


# Time to arrive


@pytest.mark.req("F-24", "F-30")
async def test_message_that_does_not_arrive_in_time_cuts_the_connection() -> None:
    channel, wire = make(StreamSettings(serving=True, message_seconds=0.1))
    receiver = Recorder()
    channel.start(receiver)
    started = time.monotonic()
    wire.feed(b"whole\nha")
    wire.feed(b"lf")
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "connection cut: a message did not arrive whole within 0.1 s"
    assert receiver.messages == [b"whole"]
    assert time.monotonic() - started >= 0.1


async def test_time_to_arrive_is_that_of_each_message_alone() -> None:
    channel, wire = make(StreamSettings(serving=True, message_seconds=2.0))
    receiver = Recorder()
    channel.start(receiver)
    wire.feed(b"be")
    for _ in range(8):
        await asyncio.sleep(0.3)
        wire.feed(b"gun\nbe")
    assert receiver.ends == []
    assert receiver.messages == [b"begun"] * 8
    channel.abort()
    await receiver.ended()


async def test_time_while_this_end_does_not_read_does_not_count() -> None:
    limits = Limits(write_stall_seconds=10)
    channel, wire = make(StreamSettings(serving=True, message_seconds=0.1, limits=limits), room=0)
    receiver = Recorder()
    channel.start(receiver)
    wire.feed(b"ha")
    channel.send(b"x" * (2 * CHUNK))
    await asyncio.sleep(0.2)
    assert receiver.ends == []
    while not channel.writable:
        wire.take(wire.waiting)
    wire.feed(b"lf\n")
    assert receiver.messages == [b"half"]
    channel.abort()
    await receiver.ended()


async def test_no_timer_is_left_behind() -> None:
    channel, wire = make(StreamSettings(serving=True, message_seconds=30.0), room=0)
    receiver = Recorder()
    channel.start(receiver)
    wire.feed(b"half")
    channel.send(b"x" * (2 * CHUNK))
    channel.close()
    channel.abort()
    await receiver.ended()
    timers = (channel._watch_timer, channel._close_timer)
    assert all(timer is not None and timer.cancelled() for timer in timers)


# Starting and ending


async def test_what_arrives_before_start_waits_for_it() -> None:
    channel, wire = make()
    assert not wire.reading
    wire.feed(b"1\n2\nha")
    receiver = Recorder()
    channel.start(receiver)
    assert receiver.messages == [b"1", b"2"]
    assert wire.reading
    wire.feed(b"lf\n")
    assert receiver.messages == [b"1", b"2", b"half"]


async def test_input_that_ended_before_start_is_told_after_what_arrived() -> None:
    channel, wire = make()
    wire.feed(b"1\n")
    assert channel.eof_received() is True
    receiver = Recorder()
    channel.start(receiver)
    assert (receiver.messages, receiver.inputs_ended) == ([b"1"], 1)
    assert not wire.reading


async def test_connection_lost_before_start_is_told_at_start() -> None:
    channel, _ = make()
    channel.connection_lost(ConnectionResetError("gone"))
    receiver = Recorder()
    channel.start(receiver)
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "the connection to wire was lost: gone"


@pytest.mark.req("F-18")
async def test_end_in_the_middle_of_a_message_is_an_error_without_a_farewell_too() -> None:
    channel, wire = make()
    receiver = Recorder()
    channel.start(receiver)
    wire.feed(b"half")
    wire.close()
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "the connection ended in the middle of a message"


@pytest.mark.req("F-17", "F-30")
async def test_broken_framing_ends_the_connection_after_the_messages_before_it() -> None:
    channel, wire = make(StreamSettings(framing="content-length"))
    receiver = Recorder()
    channel.start(receiver)
    wire.feed(b"Content-Length: 1\r\n\r\n1nonsense\r\n\r\nContent-Length: 1\r\n\r\n2")
    error = await receiver.ended()
    assert isinstance(error, FramingError)
    assert receiver.messages == [b"1"]
    assert wire.aborted


class Clumsy(Recorder):
    """Fails in the callback it is told to."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def fail(self, where: str) -> None:
        if where == self._where:
            raise RuntimeError("clumsy")

    def message_received(self, data: bytes) -> None:
        super().message_received(data)
        self.fail("message_received")

    def writable_changed(self, writable: bool) -> None:
        super().writable_changed(writable)
        self.fail("writable_changed")

    def input_ended(self) -> None:
        super().input_ended()
        self.fail("input_ended")


@pytest.mark.req("F-30")
@pytest.mark.parametrize("where", ["message_received", "writable_changed", "input_ended"])
async def test_receiver_that_fails_is_logged_and_its_connection_cut(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    channel, wire = make(room=0)
    receiver = Clumsy(where)
    channel.start(receiver)
    wire.feed(b"1\n2\n")
    if where == "writable_changed":
        channel.send(b"x" * (2 * CHUNK))
    if where == "input_ended":
        channel.eof_received()
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == ("connection cut: what receives the messages of this connection failed")
    assert receiver.messages == ([b"1"] if where == "message_received" else [b"1", b"2"])
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("accord.transports", logging.ERROR)
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "clumsy"


async def test_receiver_that_fails_at_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Last(Recorder):
        def connection_lost(self, error: object) -> None:
            super().connection_lost(None)
            raise RuntimeError("clumsy")

    channel, _ = make()
    receiver = Last()
    channel.start(receiver)
    channel.abort()
    await receiver.ended()
    assert [record.name for record in caplog.records] == ["accord.transports"]


async def test_close_waits_for_what_is_queued() -> None:
    channel, wire = make(StreamSettings(), room=0)
    receiver = Recorder()
    channel.start(receiver)
    message = b"x" * (3 * CHUNK)
    channel.send(message)
    channel.send(b"last")
    channel.close()
    assert not wire.closed
    while wire.waiting:
        wire.take(wire.waiting)
    assert await receiver.ended() is None
    assert b"".join(wire.writes) == message + b"\nlast\n"


@pytest.mark.req("F-24")
async def test_close_gives_up_after_the_stall_time() -> None:
    channel, wire = make(StreamSettings(limits=Limits(write_stall_seconds=0.1)), room=0)
    receiver = Recorder()
    channel.start(receiver)
    channel.send(b"x" * 1000)
    channel.close()
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "connection cut: 1,001 bytes were not taken within 0.1 s of closing"
    assert wire.aborted


LINGERING = StreamSettings(
    serving=True, linger_seconds=0.05, limits=Limits(write_stall_seconds=0.2)
)


async def test_close_ends_the_output_and_waits_for_the_other_end_to_close() -> None:
    channel, wire = make(LINGERING)
    receiver = Recorder()
    channel.start(receiver)
    channel.close()
    assert wire.output_ended
    assert wire.reading
    wire.feed(b"too late\n")
    assert channel.eof_received() is False
    wire.close()
    assert await receiver.ended() is None
    assert receiver.messages == []
    assert receiver.inputs_ended == 0


async def test_close_waits_for_what_is_on_its_way_before_it_stops_waiting_for_the_other_end() -> (
    None
):
    channel, wire = make(LINGERING, room=0)
    receiver = Recorder()
    channel.start(receiver)
    channel.send(b"x" * 1000)
    channel.close()
    assert wire.output_ended
    await asyncio.sleep(0.1)
    assert not wire.closed
    wire.take(wire.waiting)
    assert await receiver.ended() is None
    assert not wire.aborted


async def test_closing_connection_whose_output_is_not_taken_is_cut() -> None:
    channel, wire = make(LINGERING, room=0)
    receiver = Recorder()
    channel.start(receiver)
    channel.send(b"x" * 1000)
    channel.close()
    error = await receiver.ended()
    assert isinstance(error, ConnectionLostError)
    assert error.message == "connection cut: 1,001 bytes were not taken within 0.2 s of closing"
    assert wire.aborted


async def test_transport_that_does_not_finish_closing_is_aborted() -> None:
    class Endless(Wire):
        def close(self) -> None:
            """As TLS does while the other end does not say goodbye."""

    channel = StreamChannel(INFO, StreamSettings(limits=Limits(write_stall_seconds=0.05)))
    wire = Endless(channel)
    receiver = Recorder()
    channel.start(receiver)
    channel.close()
    assert await receiver.ended() is None
    assert wire.aborted


@pytest.mark.parametrize("waiting", [False, True])
async def test_reset_while_closing_is_an_error_only_when_something_was_not_taken(
    waiting: bool,
) -> None:
    channel, wire = make(LINGERING, room=0 if waiting else None)
    receiver = Recorder()
    channel.start(receiver)
    channel.send(b"last words")
    channel.close()
    channel.connection_lost(ConnectionResetError("reset"))
    error = await receiver.ended()
    if waiting:
        assert isinstance(error, ConnectionLostError)
        assert error.message == "the connection to wire was lost: reset"
    else:
        assert error is None
    assert wire.output_ended
