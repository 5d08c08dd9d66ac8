"""Streams over real sockets, on both event loops."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import ssl
from pathlib import Path

import pytest

from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from accord.jsonrpc.protocol.errors import ConnectionLostError, FramingError, MessageTooLargeError
from accord.transports.options import Framing, Options
from accord.transports.stream import StreamChannel
from accord.transports.stream.endpoints import open_stream
from tests.transports.recorder import Recorder
from tests.transports.stream.sockets import LOCAL, Service, raw_client, serving

BOTH_LOOPS = True
FRAMINGS: tuple[Framing, ...] = ("newline", "content-length")
framings = pytest.mark.parametrize("framing", FRAMINGS)

MESSAGE = b'{"jsonrpc":"2.0","id":1,"method":"add"}'


def framed(framing: Framing, *messages: bytes) -> bytes:
    if framing == "newline":
        return b"".join(message + b"\n" for message in messages)
    return b"".join(b"Content-Length: %d\r\n\r\n" % len(message) + message for message in messages)


async def connected(
    service: Service, options: Options | None = None
) -> tuple[StreamChannel, Recorder]:
    channel = await open_stream(service.listener.url, options or Options())
    recorder = Recorder()
    channel.start(recorder)
    return channel, recorder


# Carrying messages


@pytest.mark.req("F-17", "F-19")
@framings
@pytest.mark.parametrize("kind", ["tcp", "tcp over IPv6", "tls", "unix"])
async def test_messages_of_all_sizes_go_there_and_back(
    kind: str,
    framing: Framing,
    tmp_path: Path,
    server_tls: ssl.SSLContext,
    client_tls: ssl.SSLContext,
) -> None:
    url = {
        "tcp": LOCAL,
        "tcp over IPv6": "tcp://[::1]:0",
        "tls": "tls://127.0.0.1:0",
        "unix": f"unix://{tmp_path}/socket",
    }[kind]
    async with serving(url, Options(framing=framing, tls=server_tls)) as service:
        client, recorder = await connected(service, Options(framing=framing, tls=client_tls))
        messages = [b"x" * size for size in (1, 2, 100, 65_535, 65_536, 65_537, 1_000_000, 3)]
        for message in messages:
            client.send(message)
        assert await recorder.received(len(messages)) == messages
        server, _ = await service.connection()
        assert client.info.scheme == server.info.scheme == url.partition(":")[0]
        assert client.info.address in service.listener.url
        assert server.info.address
        client.close()
        assert await recorder.ended() is None


@pytest.mark.req("F-19")
async def test_tls_connection_knows_its_certificate(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with serving("tls://127.0.0.1:0", Options(tls=server_tls)) as service:
        client, recorder = await connected(service, Options(tls=client_tls))
        details = client.info.details["tls"]
        assert details["version"] == "TLSv1.3"
        assert details["certificate"]["subject"] == ((("commonName", "localhost"),),)
        server, _ = await service.connection()
        assert server.info.details["tls"]["certificate"] is None
        client.close()
        assert await recorder.ended() is None


async def test_message_right_behind_the_tls_handshake_is_not_lost(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with serving("tls://127.0.0.1:0", Options(tls=server_tls)) as service:

        def say_hello() -> bytes:
            with (
                socket.create_connection(service.address) as plain,
                client_tls.wrap_socket(plain, server_hostname="localhost") as secured,
            ):
                secured.sendall(b"hello\n")
                return secured.recv(100)

        assert await asyncio.to_thread(say_hello) == b"hello\n"


@pytest.mark.req("F-17")
@framings
async def test_message_that_comes_byte_by_byte_is_delivered_once(framing: Framing) -> None:
    async with serving(options=Options(framing=framing)) as service, raw_client(service) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = framed(framing, MESSAGE)
        for byte in answer:
            await client.send(bytes([byte]))
            await asyncio.sleep(0)
        assert await client.read(len(answer)) == answer
        _, recorder = await service.connection()
        assert recorder.messages == [MESSAGE]


@pytest.mark.req("F-18", "F-30")
@framings
async def test_connection_cut_at_every_byte_of_a_message(framing: Framing) -> None:
    stream = framed(framing, MESSAGE)
    async with serving(options=Options(framing=framing), receiver=lambda _: Recorder()) as service:
        for cut in range(len(stream) + 1):
            async with raw_client(service) as client:
                await client.send(stream[:cut])
            channel, recorder = await service.connection(cut)
            if cut in (0, len(stream)):
                await recorder.until(lambda recorder=recorder: recorder.inputs_ended == 1)  # type: ignore[misc]
                channel.close()
                assert await recorder.ended() is None
                assert recorder.messages == [MESSAGE][: cut // len(stream)]
            else:
                error = await recorder.ended()
                assert isinstance(error, ConnectionLostError)
                assert error.message == "the connection ended in the middle of a message"
                assert recorder.messages == []


@pytest.mark.req("F-18")
async def test_reset_connection_is_an_error_at_the_other_end() -> None:
    async with serving() as service, raw_client(service) as client:
        _, recorder = await service.connection()
        client.reset()
        error = await recorder.ended()
        assert isinstance(error, ConnectionLostError)
        assert error.message.startswith("the connection to 127.0.0.1:")
        assert isinstance(error.__cause__, ConnectionResetError)
        assert error.recoverable


# Limits


@pytest.mark.req("F-29")
@framings
async def test_oversized_message_is_refused_and_the_next_one_served(framing: Framing) -> None:
    options = Options(framing=framing, limits=Limits(max_message_bytes=1000))
    async with serving(options=options) as service, raw_client(service) as client:
        await client.send(framed(framing, b"x" * 5_000_000, MESSAGE))
        assert await client.read(len(framed(framing, MESSAGE))) == framed(framing, MESSAGE)
        _, recorder = await service.connection()
        (refusal,) = recorder.refusals
        assert isinstance(refusal, MessageTooLargeError)
        assert refusal.code == -32012
        assert refusal.message == "message of 5,000,000 bytes is over the limit of 1,000"
        assert refusal.data == {"reason": "message_too_large", "maxSize": 1000, "unit": "bytes"}


@pytest.mark.req("F-17", "F-30")
async def test_garbage_ends_a_content_length_connection_with_a_framing_error() -> None:
    options = Options(framing="content-length")
    async with serving(options=options) as service, raw_client(service) as client:
        await client.send(os.urandom(100_000))
        _, recorder = await service.connection()
        assert isinstance(await recorder.ended(), FramingError)


@pytest.mark.req("F-24", "F-28")
@pytest.mark.parametrize("scheme", ["tcp", "tls"])
async def test_client_that_does_not_read_stops_the_server_reading_and_loses_nothing(
    scheme: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with serving(f"{scheme}://127.0.0.1:0", Options(tls=server_tls)) as service:
        limits = Limits(max_queued_bytes=100_000_000)
        client, answers = await connected(service, Options(tls=client_tls, limits=limits))
        messages = [b"%05d" % number + b"x" * 10_000 for number in range(4_000)]
        client.send(messages[0])
        await answers.received(1)
        client._transport.pause_reading()
        for message in messages[1:]:
            client.send(message)
        server, recorder = await service.connection()
        await recorder.until(lambda: recorder.writable_changes == [False])
        # What is between the ends: the sockets' buffers and one chunk in the channel.
        assert len(recorder.messages) < 2_000
        assert server._queued() < 1_000_000

        client._transport.resume_reading()
        assert await answers.received(len(messages)) == messages
        client.close()
        assert await answers.ended() is None


@pytest.mark.req("F-24", "F-28")
async def test_client_that_does_not_read_what_it_is_sent_is_cut_at_the_limit() -> None:
    options = Options(limits=Limits(max_queued_bytes=200_000))
    async with serving(options=options) as service, raw_client(service):
        server, recorder = await service.connection()
        sent = 0
        while not recorder.ends and sent < 100_000:
            server.send(b"x" * 10_000)
            sent += 1
            await asyncio.sleep(0)
        error = await recorder.ended()
        assert isinstance(error, ConnectionLostError)
        assert "over the limit of 200,000" in error.message


@pytest.mark.req("F-24")
@pytest.mark.parametrize("scheme", ["tcp", "tls"])
async def test_client_that_takes_nothing_is_cut_after_the_stall_time(
    scheme: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    options = Options(tls=server_tls, limits=Limits(write_stall_seconds=0.2))
    async with serving(f"{scheme}://127.0.0.1:0", options) as service:
        client, answers = await connected(service, Options(tls=client_tls))
        server, recorder = await service.connection()
        client._transport.pause_reading()
        server.send(b"x" * 15_000_000)
        error = await recorder.ended()
        assert isinstance(error, ConnectionLostError)
        assert error.message == "connection cut: the other end has taken nothing for 0.2 s"
        client.abort()
        await answers.ended()


@pytest.mark.req("F-24", "F-30")
async def test_client_that_never_finishes_a_message_is_cut_and_others_are_served() -> None:
    options = Options(server_limits=ServerLimits(message_seconds=0.1))
    async with (
        serving(options=options) as service,
        raw_client(service) as slow,
        raw_client(service) as good,
    ):
        await slow.send(b'{"half"')
        assert await slow.read_to_end() == b""
        _, recorder = await service.connection()
        error = await recorder.ended()
        assert isinstance(error, ConnectionLostError)
        assert error.message == "connection cut: a message did not arrive whole within 0.1 s"
        await good.send(MESSAGE + b"\n")
        assert await good.read(len(MESSAGE) + 1) == MESSAGE + b"\n"


@pytest.mark.req("F-28")
@pytest.mark.parametrize("scheme", ["tcp", "tls"])
async def test_connections_over_the_limit_are_closed_on_arrival(
    scheme: str, server_tls: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    options = Options(tls=server_tls, server_limits=ServerLimits(max_connections=2))
    async with (
        serving(f"{scheme}://127.0.0.1:0", options) as service,
        raw_client(service) as first,
        raw_client(service),
        raw_client(service) as third,
    ):
        # Over TLS the first two have not even begun their handshakes, and count.
        assert await third.read_to_end() == b""
        assert service.listener.connections == 2
        assert "2 connections, its limit" in caplog.text
        if scheme == "tcp":
            await first.send(MESSAGE + b"\n")
            assert await first.read(len(MESSAGE) + 1) == MESSAGE + b"\n"


# Ending


@pytest.mark.req("F-16", "F-18")
async def test_half_closed_connection_still_gets_its_answers() -> None:
    async with serving(receiver=lambda _: Recorder()) as service, raw_client(service) as client:
        await client.send(b"question\n")
        client.half_close()
        channel, recorder = await service.connection()
        await recorder.until(lambda: recorder.inputs_ended == 1)
        assert recorder.messages == [b"question"]
        assert recorder.ends == []
        channel.send(b"answer")
        channel.close()
        assert await client.read_to_end() == b"answer\n"
        assert await recorder.ended() is None


async def test_client_takes_the_end_of_input_for_the_end() -> None:
    async with serving() as service:
        _, recorder = await connected(service)
        server, _ = await service.connection()
        server.close()
        assert await recorder.ended() is None
        assert recorder.inputs_ended == 0


async def test_what_was_sent_before_close_arrives_though_the_client_still_sends() -> None:
    async with serving(receiver=lambda _: Recorder()) as service, raw_client(service) as client:
        server, recorder = await service.connection()
        server.send(b"x" * 3_000_000)
        server.close()
        # A socket closed with unread input would destroy what is still under way.
        for _ in range(20):
            await client.send(b"y" * 10_000)
        assert await client.read(3_000_001) == b"x" * 3_000_000 + b"\n"
        client.socket.close()
        assert await recorder.ended() is None


async def test_close_does_not_wait_long_for_a_client_that_does_not_close() -> None:
    async with serving(receiver=lambda _: Recorder()) as service, raw_client(service) as client:
        server, recorder = await service.connection()
        server.close()
        assert await client.read_to_end() == b""
        assert await recorder.ended() is None


@pytest.mark.req("F-24")
async def test_closing_connection_is_cut_when_the_client_does_not_read() -> None:
    options = Options(limits=Limits(write_stall_seconds=0.2))
    async with (
        serving(options=options, receiver=lambda _: Recorder()) as service,
        raw_client(service),
    ):
        server, recorder = await service.connection()
        server.send(b"x" * 10_000_000)
        server.close()
        error = await recorder.ended()
        assert isinstance(error, ConnectionLostError)
        assert error.message.startswith("connection cut: ")


@pytest.mark.req("F-24")
@pytest.mark.parametrize("scheme", ["tcp", "tls"])
async def test_many_connections_leave_nothing_behind(
    scheme: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async def come_and_go(service: Service, count: int) -> None:
        for _ in range(count):
            client, recorder = await connected(service, Options(tls=client_tls))
            client.send(MESSAGE)
            await recorder.received(1)
            client.close()
            assert await recorder.ended() is None
        for channel, recorder in zip(service.channels, service.recorders, strict=True):
            await recorder.until(
                lambda recorder=recorder: bool(recorder.inputs_ended or recorder.ends)  # type: ignore[misc]
            )
            channel.close()
            assert await recorder.ended() is None
        service.channels.clear()
        service.recorders.clear()

    def left() -> tuple[int, int, int]:
        gc.collect()
        channels = sum(isinstance(thing, StreamChannel) for thing in gc.get_objects())
        return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), channels

    async with serving(f"{scheme}://127.0.0.1:0", Options(tls=server_tls)) as service:
        await come_and_go(service, 5)
        before = left()
        await come_and_go(service, 50)
        for _ in range(5):
            await asyncio.sleep(0)  # closed handles of uvloop go in a later turn
        assert left() == before
        assert service.listener.connections == 0
