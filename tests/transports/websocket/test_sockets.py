"""WebSockets over real sockets: both our ends, and each of them against hostile bytes."""

from __future__ import annotations

import asyncio
import gc
import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from accord.jsonrpc.protocol.channel import MIB, Limits, ServerLimits
from accord.jsonrpc.protocol.errors import ConnectionLostError, FramingError
from accord.transports.options import Options
from accord.transports.websocket.channel import WebSocketChannel
from accord.transports.websocket.endpoints import open_websocket
from accord.transports.websocket.frames import (
    Close,
    FrameReader,
    Message,
    Opcode,
    Pong,
    close_payload,
    frame,
    frame_header,
)
from tests.transports.recorder import Echo, Recorder
from tests.transports.websocket.raw import (
    KEY,
    REQUEST,
    raw_client,
    raw_connection,
    raw_server,
    recording,
    serving,
    text,
)

BOTH_LOOPS = True


async def opened(url: str, options: Options | None = None) -> tuple[WebSocketChannel, Recorder]:
    channel = await open_websocket(url, Options() if options is None else options)
    receiver = Recorder()
    channel.start(receiver)
    return channel, receiver


# Both ends are ours


@pytest.mark.req("F-17", "F-19")
async def test_messages_of_all_sizes_go_there_and_back() -> None:
    messages = [b"1", b"x" * 125, b"x" * 126, b"x" * 65_536, "κόσμε".encode() * 50_000]
    async with serving(Echo) as server:
        channel, receiver = await opened(server.url)
        for message in messages:
            channel.send(message)
        assert await receiver.received(len(messages)) == messages
        channel.close()
        assert await receiver.ended() is None
        assert await server.receivers[0].ended() is None


@pytest.mark.req("F-19")
async def test_messages_travel_under_tls(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    message = b"x" * 300_000
    async with serving(Echo, Options(tls=server_tls), "wss://127.0.0.1:0/") as server:
        channel, receiver = await opened(server.url, Options(tls=client_tls))
        channel.send(message)
        assert await receiver.received(1) == [message]
        assert [channel.info.scheme, server.channels[0].info.scheme] == ["wss", "wss"]
        assert channel.info.details["tls"]["version"] == "TLSv1.3"
        channel.close()
        assert await receiver.ended() is None
        assert await server.receivers[0].ended() is None


@pytest.mark.req("F-19")
async def test_both_ends_know_whom_they_talk_to() -> None:
    async with serving(recording) as server:
        options = Options(headers={"Authorization": "Bearer secret"})
        channel, _ = await opened(f"{server.url}?room=1", options)
        there = server.url.removeprefix("ws://").removesuffix("/")
        assert (channel.info.scheme, channel.info.address) == ("ws", there)
        info = server.channels[0].info
        assert info.details["headers"]["authorization"] == "Bearer secret"
        assert info.details["target"] == "/?room=1"
        assert info.address.startswith("127.0.0.1:")
        channel.abort()


@pytest.mark.req("F-20")
@pytest.mark.parametrize("end", [WebSocketChannel.close, WebSocketChannel.abort])
async def test_the_server_may_end_the_connection(end: Callable[[WebSocketChannel], None]) -> None:
    async with serving(recording) as server:
        _, receiver = await opened(server.url)
        end(server.channels[0])
        error = await receiver.ended()
        assert await server.receivers[0].ended() is None
        assert (error is None) is (end is WebSocketChannel.close)
        await server.emptied()


async def test_pings_keep_an_idle_connection_open() -> None:
    async with serving(recording) as server:
        channel, receiver = await opened(server.url, Options(ping_seconds=0.02))
        await asyncio.sleep(0.2)
        assert receiver.ends == server.receivers[0].ends == []
        channel.close()
        assert await receiver.ended() is None


# Hostile clients


@pytest.mark.req("F-17", "F-18", "F-30")
async def test_a_connection_cut_at_any_byte_is_lost_and_leaves_nothing_behind() -> None:
    data = (
        text(b"x" * 200)
        + frame(Opcode.PING, b"there?", KEY)
        + bytes([Opcode.TEXT])
        + text(b"fragment")[1:]
    )
    async with serving(recording) as server:
        for cut in range(len(data)):
            async with raw_client(server.url) as raw:
                raw.write(data[:cut])
            _, receiver = await server.accepted(cut + 1)
            error = await receiver.ended()
            assert isinstance(error, ConnectionLostError)
            assert error.data == {"code": 1006, "reason": ""}
            assert receiver.messages == ([b"x" * 200] if cut >= len(text(b"x" * 200)) else [])
        await server.emptied()


@pytest.mark.req("F-30")
async def test_a_handshake_cut_at_any_byte_leaves_nothing_behind() -> None:
    async with serving(recording) as server:
        for cut in range(0, len(REQUEST), 3):
            async with raw_connection(server.url) as raw:
                raw.write(REQUEST[:cut])
        await server.emptied()
        assert server.channels == []


@pytest.mark.req("F-28", "F-30")
async def test_a_client_that_sends_its_headers_byte_by_byte_is_cut_off() -> None:
    options = Options(server_limits=ServerLimits(header_seconds=0.1))
    async with serving(recording, options) as server, raw_connection(server.url) as raw:
        sending = asyncio.create_task(send_slowly(raw.writer, REQUEST))
        answer = await raw.response()
        sending.cancel()
        assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert answer.endswith(b"\r\n\r\nThe request took too long.\n")


@pytest.mark.req("F-28", "F-30")
async def test_a_client_that_sends_a_message_byte_by_byte_is_cut_off() -> None:
    options = Options(server_limits=ServerLimits(message_seconds=0.1))
    async with serving(recording, options) as server, raw_client(server.url) as raw:
        sending = asyncio.create_task(send_slowly(raw.writer, text(b"x" * 1_000)))
        _, receiver = await server.accepted()
        error = await receiver.ended()
        sending.cancel()
        assert isinstance(error, ConnectionLostError)
        assert error.message == "connection cut: a message did not arrive whole within 0.1 s"
        await server.emptied()


async def send_slowly(writer: asyncio.StreamWriter, data: bytes) -> None:
    for i in range(len(data)):
        writer.write(data[i : i + 1])
        await asyncio.sleep(0.01)


@pytest.mark.req("F-29")
async def test_an_oversized_message_is_refused_without_being_kept_and_the_next_one_served() -> None:
    size = 64 * MIB
    options = Options(limits=Limits(max_message_bytes=1_000))
    async with serving(Echo, options) as server, raw_client(server.url) as raw:
        before = resident_bytes()
        raw.write(frame_header(Opcode.TEXT, size, masked=True), KEY)
        for _ in range(size // MIB):
            raw.write(bytes(MIB))
            await raw.writer.drain()
        raw.write(text(b"next"))
        assert await raw.next() == [Message(b"next", True)]
        assert resident_bytes() - before < 16 * MIB
        (refusal,) = server.receivers[0].refusals
        assert refusal.message == "message of 67,108,864 bytes is over the limit of 1,000"


@pytest.mark.req("F-24", "F-28")
async def test_a_client_that_does_not_read_is_not_read_from_either() -> None:
    async with serving(Echo) as server, raw_client(server.url) as raw:
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
        channel, receiver = await server.accepted()
        before = resident_bytes()
        message = text(b"x" * 50_000)
        sent = 0
        while raw.writer.transport.get_write_buffer_size() < 4 * MIB:
            raw.write(message)
            sent += 1
            await asyncio.sleep(0)
        await receiver.until(lambda: not channel.writable)
        assert resident_bytes() - before < 32 * MIB
        raw.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await raw.next(sent)) == sent
        assert channel.writable


@pytest.mark.req("F-24", "F-28")
async def test_a_client_that_never_reads_is_cut_after_the_stall_time() -> None:
    options = Options(limits=Limits(write_stall_seconds=0.1))
    async with serving(Echo, options) as server, raw_client(server.url) as raw:
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
        channel, receiver = await server.accepted()
        while not receiver.ends:
            channel.send(b"x" * 100_000)
            await asyncio.sleep(0.001)
        error = await receiver.ended()
        assert error is not None
        assert error.message == "connection cut: the other end has taken nothing for 0.1 s"
        await server.emptied()


@pytest.mark.req("F-28", "F-30")
async def test_a_flood_of_pings_from_a_client_that_does_not_read_costs_no_memory() -> None:
    async with serving(recording) as server, raw_client(server.url) as raw:
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
        before = resident_bytes()
        pings = frame(Opcode.PING, b"x" * 125, KEY) * 1_000
        while raw.writer.transport.get_write_buffer_size() < 4 * MIB:
            raw.write(pings)
            await asyncio.sleep(0)
        assert resident_bytes() - before < 32 * MIB
        raw.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert (await raw.next())[0] == Pong(b"x" * 125)
        raw.writer.transport.abort()


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("data", "close"),
    [
        (frame(Opcode.TEXT, b"unmasked"), Close(1002, "frame is not masked")),
        (frame(Opcode.TEXT, b"\xc3(", KEY), Close(1007, "text is not UTF-8")),
        (b"\xf1\x80" + KEY, Close(1002, "reserved bits are set")),
        (b"GET / HTTP/1.1\r\n\r\n", Close(1002, "reserved bits are set")),
    ],
)
async def test_a_client_that_breaks_the_protocol_is_told_why_and_others_are_served(
    data: bytes, close: Close
) -> None:
    async with serving(Echo) as server:
        channel, receiver = await opened(server.url)
        async with raw_client(server.url) as raw:
            raw.write(data + bytes(500_000))  # more than is read before the answer
            assert await raw.next() == [close]
        error = await server.receivers[1].ended()
        assert isinstance(error, FramingError)
        assert error.data == {"code": close.code, "reason": close.reason}
        channel.send(b"still there?")
        assert await receiver.received(1) == [b"still there?"]
        channel.close()
        assert await receiver.ended() is None


# Hostile servers


@pytest.mark.req("F-30")
async def test_a_server_that_masks_is_told_so() -> None:
    async with raw_server() as (url, arrived):
        _, receiver = await opened(url)
        raw = await arrived.get()
        raw.write(text(b"masked"))
        told = FrameReader(masked=True, max_message_bytes=None).receive(await raw.response())
        assert told == [Close(1002, "frame is masked")]
        raw.writer.close()
        error = await receiver.ended()
        assert isinstance(error, FramingError)
        assert error.data == {"code": 1002, "reason": "frame is masked"}


@pytest.mark.req("F-18")
async def test_what_follows_the_handshake_at_once_is_not_lost() -> None:
    early = frame(Opcode.TEXT, b"hi") + frame(Opcode.CLOSE, close_payload(1011))
    async with raw_server(early) as (url, arrived):
        _, receiver = await opened(url)
        raw = await arrived.get()
        raw.writer.close()
        error = await receiver.ended()
        assert receiver.messages == [b"hi"]
        assert error is not None
        assert error.data == {"code": 1011, "reason": ""}


@pytest.mark.req("F-18")
async def test_a_server_that_goes_away_before_the_start_is_told_at_the_start() -> None:
    async with raw_server() as (url, arrived):
        channel = await open_websocket(url, Options())
        raw = await arrived.get()
        raw.writer.transport.abort()
        receiver = Recorder()
        channel.start(receiver)
        assert isinstance(await receiver.ended(), ConnectionLostError)


# Nothing left behind


@pytest.mark.req("F-24")
async def test_many_connections_leave_nothing_behind() -> None:
    async with serving(Echo) as server:

        async def once() -> None:
            channel, receiver = await opened(server.url)
            channel.send(b"x" * 1_000)
            await receiver.received(1)
            channel.close()
            assert await receiver.ended() is None

        await once()
        before = open_files(), channels_alive()
        for _ in range(50):
            await asyncio.gather(*(once() for _ in range(4)))
        await server.emptied()
        server.channels.clear()
        server.receivers.clear()
        assert (open_files(), channels_alive()) <= before


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def channels_alive() -> int:
    gc.collect()
    return sum(isinstance(found, WebSocketChannel) for found in gc.get_objects())


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")
