"""The client's channel, against our server and against servers that misbehave."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, ServerLimits
from accord.jsonrpc.protocol.errors import (
    ConnectError,
    ConnectionLostError,
    FramingError,
    RpcError,
    TransportError,
)
from accord.transports.connect import connect
from accord.transports.http.client import MAX_READY_MESSAGES, HttpChannel, open_http
from accord.transports.options import Options
from tests.transports.http.service import PATIENCE, serving
from tests.transports.recorder import Recorder

BOTH_LOOPS = True


class Replies(Recorder):
    """Also records which message each reply belongs to."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[tuple[bytes, bytes]] = []

    def reply_received(self, sent: bytes, data: bytes) -> None:
        self.replies.append((sent, data))
        self.message_received(data)


def answer(number: int | str) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":1}' % str(number).encode()


def call(number: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"add"}' % number


NOTIFICATION = b'{"jsonrpc":"2.0","method":"tell"}'


@asynccontextmanager
async def channel_to(url: str, **options: Any) -> AsyncIterator[tuple[HttpChannel, Replies]]:
    channel = await open_http(url, Options(**options))
    replies = Replies()
    channel.start(replies)
    try:
        yield channel, replies
    finally:
        channel.close()
        assert await replies.ended() is None
        assert replies.ends == [None]


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """A server that does what a script says on each connection."""

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/rpc"


async def read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(head.rsplit("content-length: ", 1)[1])
    return head, await reader.readexactly(length)


def answering(raw: bytes) -> Script:
    """Answers every request with the same bytes, then ends the connection."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(raw)
        await writer.drain()

    return script


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads until the client goes away."""
    await reader.read()


def ok(body: bytes, *lines: bytes) -> bytes:
    head = [b"HTTP/1.1 200 OK", b"content-length: %d" % len(body), *lines]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@pytest.mark.req("F-19")
async def test_a_message_and_its_reply() -> None:
    async with serving() as site, channel_to(site.listener.url) as (channel, replies):
        assert channel.info == ChannelInfo(
            scheme="http", address=f"127.0.0.1:{site.port}", duplex=False
        )
        sent = answer(1)  # the service echoes
        channel.send(sent)
        await replies.received(1)
        assert replies.replies == [(sent, sent)]
        assert dict(site.service.context.headers) == {
            "host": f"127.0.0.1:{site.port}",
            "user-agent": "accord",
            "accept": "application/json",
            "content-type": "application/json",
            "content-length": str(len(sent)),
        }


async def test_nothing_to_say_is_nothing_received() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        await read_request(reader)
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await read_request(reader)
        writer.write(ok(answer(3)))
        await reader.read()

    async with scripted(script) as url, channel_to(url, pool_size=1) as (channel, replies):
        for data in (NOTIFICATION, NOTIFICATION, call(3)):
            channel.send(data)
        await replies.received(1)
        assert (replies.replies, replies.failed_sends) == ([(call(3), answer(3))], [])


@pytest.mark.req("F-27")
async def test_a_call_that_is_answered_with_nothing_has_failed() -> None:
    raw = b"HTTP/1.1 204 No Content\r\n\r\n"
    async with scripted(answering(raw)) as url, channel_to(url) as (channel, replies):
        channel.send(call(1))
        await replies.until(lambda: bool(replies.failed_sends))
        ((sent, error),) = replies.failed_sends
        assert (sent, error.message) == (call(1), "the server answered HTTP 204 and no JSON-RPC")


async def test_headers_of_ones_own_are_sent() -> None:
    headers = {"Authorization": "Bearer t", "Content-Type": "application/json-rpc"}
    async with serving() as site, channel_to(site.listener.url, headers=headers) as both:
        channel, replies = both
        channel.send(answer(1))
        await replies.received(1)
        assert site.service.context.headers["authorization"] == "Bearer t"
        assert site.service.context.headers["content-type"] == "application/json-rpc"


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "a\r\nY: b"),
        ("X", "a\nb"),
        ("X", "a\0"),
        ("X", "snowman ☃"),
        ("X\r\nY", "b"),
        ("X Y", "b"),
        ("", "b"),
        ("Content-Length", "5"),
        ("transfer-encoding", "chunked"),
        ("Connection", "close"),
    ],
)
async def test_headers_that_would_change_the_request_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConnectError, match="header") as caught:
        await open_http("http://127.0.0.1:1/rpc", Options(headers={name: value}))
    assert not caught.value.recoverable


async def test_further_headers_are_asked_for_at_each_message() -> None:
    numbers = iter("12")

    def further() -> dict[str, str]:
        return {"Number": next(numbers), "same": "mine"}

    options = {"headers": {"same": "theirs"}, "outgoing_headers": further}
    async with serving() as site, channel_to(site.listener.url, **options) as both:
        channel, replies = both
        for number in (1, 2):
            channel.send(answer(number))
            await replies.received(number)
            headers = site.service.context.headers
            assert (headers["number"], headers["same"]) == (str(number), "mine")


@pytest.mark.req("F-30")
@pytest.mark.parametrize("headers", [{"x": "a\r\ny: b"}, {"content-length": "5"}, None])
async def test_further_headers_that_cannot_be_sent_fail_their_message(headers: Any) -> None:
    async with (
        serving() as site,
        channel_to(site.listener.url, outgoing_headers=lambda: headers) as (channel, replies),
    ):
        channel.send(call(1))
        await replies.until(lambda: bool(replies.failed_sends))
        ((sent, error),) = replies.failed_sends
        assert sent == call(1)
        assert error.message.startswith("outgoing_headers gave none that can be sent: ")
        assert not error.recoverable
        assert site.service.seen == []


# Connecting


@pytest.mark.req("F-27")
async def test_a_server_that_is_not_there_is_noticed_at_once() -> None:
    async with serving() as site:
        url = site.listener.url
    with pytest.raises(ConnectError) as caught:
        await open_http(url, Options())
    assert caught.value.message.startswith(f"cannot connect to {url}: ")
    assert caught.value.recoverable
    assert "Check that the server runs" in caught.value.advice


@pytest.mark.req("F-27")
@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 70])
async def test_a_host_that_is_not_there_is_noticed_at_once(host: str) -> None:
    with pytest.raises(ConnectError, match=f"the host of http://{host}:1/ is unknown"):
        await open_http(f"http://{host}:1/", Options())


@pytest.mark.req("F-27")
async def test_connecting_takes_only_so_long() -> None:
    async with scripted(silent) as url:
        with pytest.raises(ConnectError) as caught:
            await open_http(url.replace("http:", "https:"), Options(connect_seconds=0.05))
        assert caught.value.message.endswith(" within 0.05 s")


# The pool


async def test_connections_are_kept_and_shared() -> None:
    async with serving() as site, channel_to(site.listener.url, pool_size=4) as both:
        channel, replies = both
        messages = [answer(number) for number in range(200)]
        for message in messages:
            channel.send(message)
        await replies.received(200)
        assert sorted(replies.replies) == sorted((sent, sent) for sent in messages)
        assert 1 <= site.listener.connections <= 4


async def test_what_is_received_may_send_again_on_the_same_connection() -> None:
    class Insistent(Replies):
        def message_received(self, data: bytes) -> None:
            super().message_received(data)
            if len(self.messages) < 50:
                channel.send(data)

    async with serving() as site:
        channel = await open_http(site.listener.url, Options())
        replies = Insistent()
        channel.start(replies)
        channel.send(answer(1))
        await replies.received(50)
        assert site.listener.connections == 1
        channel.close()
        assert await replies.ended() is None


@pytest.mark.req("F-27")
async def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    limits = ServerLimits(idle_seconds=0.02)
    async with serving(server_limits=limits) as site, channel_to(site.listener.url) as both:
        channel, replies = both
        for number in range(3):
            channel.send(answer(number))
            await replies.received(number + 1)
            await site.until_connections(0)
        assert (len(replies.replies), replies.failed_sends) == (3, [])


@pytest.mark.req("F-27")
async def test_a_connection_that_ended_unnoticed_is_not_used_again() -> None:
    ended: SimpleQueue[None] = SimpleQueue()

    def serve_twice(listener: socket.socket) -> None:
        for _ in range(2):
            client, _ = listener.accept()
            with client:
                while call(1) not in client.recv(65536):
                    pass
                client.sendall(ok(answer(1)))
            ended.put(None)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve_twice, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with channel_to(url) as (channel, replies):
            channel.send(call(1))
            await replies.received(1)
            ended.get(timeout=PATIENCE)  # blocks the loop, so that it learns nothing of the end
            channel.send(call(1))
            await replies.received(2)
            assert replies.failed_sends == []
        thread.join(PATIENCE)


async def test_a_server_that_closes_after_each_response() -> None:
    raw = ok(answer(1), b"connection: close")
    async with scripted(answering(raw)) as url, channel_to(url, pool_size=2) as both:
        channel, replies = both
        for number in range(20):
            channel.send(call(number))
        await replies.received(20)
        assert (len(replies.replies), replies.failed_sends) == (20, [])


@pytest.mark.req("F-27")
async def test_when_the_server_is_gone_each_message_fails() -> None:
    async with serving() as site:
        channel = await open_http(site.listener.url, Options(pool_size=2))
        replies = Replies()
        channel.start(replies)
    for number in range(5):
        channel.send(call(number))
    await replies.until(lambda: len(replies.failed_sends) == 5)
    assert [sent for sent, _ in replies.failed_sends] == [call(number) for number in range(5)]
    assert {type(error) for _, error in replies.failed_sends} == {ConnectError}
    channel.close()
    assert await replies.ended() is None


@pytest.mark.req("F-27")
async def test_the_channel_recovers_with_the_server() -> None:
    async with serving() as site:
        url = site.listener.url
        channel = await open_http(url, Options())
        replies = Replies()
        channel.start(replies)
    channel.send(call(1))
    await replies.until(lambda: len(replies.failed_sends) == 1)
    async with serving(url=url) as site:
        channel.send(answer(2))
        await replies.received(1)
        channel.close()
        assert await replies.ended() is None


@pytest.mark.req("F-24", "F-28")
async def test_a_long_queue_is_not_writable() -> None:
    async with serving() as site, channel_to(site.listener.url, pool_size=1) as both:
        channel, replies = both
        count = MAX_READY_MESSAGES + 2
        for number in range(count):
            assert channel.writable
            channel.send(answer(number))
        assert not channel.writable
        await replies.received(count)
        assert channel.writable
        assert replies.writable_changes == [False, True]


@pytest.mark.req("F-24", "F-28")
async def test_what_does_not_fit_into_the_queue_fails() -> None:
    limits = Limits(max_queued_bytes=100)
    async with serving() as site, channel_to(site.listener.url, pool_size=1, limits=limits) as both:
        channel, replies = both
        messages = [answer(number) for number in range(5)]
        for message in messages:
            channel.send(message)
        assert replies.failed_sends == []  # never within send
        await replies.until(lambda: len(replies.failed_sends) == 2 and len(replies.replies) == 3)
        assert [sent for sent, _ in replies.failed_sends] == messages[3:]
        assert (
            replies.failed_sends[0][1].message == "more than 100 bytes wait to be sent, the limit"
        )


# Giving up


async def test_a_call_that_nobody_waits_for_frees_its_connection() -> None:
    gone = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, body = await read_request(reader)
        if body == call(1):
            assert await reader.read() == b""
            gone.set()
        else:
            writer.write(ok(answer(3)))
            await reader.read()

    async with scripted(script) as url, channel_to(url, pool_size=1) as (channel, replies):
        for number in (1, 2, 3):
            channel.send(call(number))
        channel.abandon(2)
        channel.abandon(1)
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
        await replies.received(1)
        channel.abandon(4)
        assert (replies.replies, replies.failed_sends) == ([(call(3), answer(3))], [])


# Servers that misbehave


@pytest.mark.req("F-18", "F-27")
@pytest.mark.req("Q-04")
@pytest.mark.parametrize("levels", [129, 2_000, 100_000])
async def test_an_answer_that_is_nested_too_deep_says_so(levels: int) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":%b%b}' % (b"[" * levels, b"]" * levels)
    async with scripted(answering(ok(body))) as url, connect(url) as peer:
        with pytest.raises(RpcError) as caught:
            await peer.call("add")
    assert caught.value.message == (
        "the reply cannot be read: Parse error: nested deeper than 128 levels"
    )


async def test_a_response_cut_at_every_byte_fails_its_message() -> None:
    whole = ok(answer(1))
    for length in range(len(whole)):
        async with scripted(answering(whole[:length])) as url, channel_to(url) as both:
            channel, replies = both
            channel.send(call(1))
            await replies.until(lambda: bool(replies.failed_sends))  # noqa: B023
            ((sent, error),) = replies.failed_sends
            assert (sent, type(error)) == (call(1), ConnectionLostError)
            assert error.message == "the server ended the connection without an answer"
            assert error.recoverable


@pytest.mark.req("F-27", "F-30")
@pytest.mark.parametrize(
    ("raw", "kind", "message"),
    [
        (b"\x16\x03\x01\r\n\r\n", FramingError, "the server's answer is not HTTP: the status line"),
        (b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", FramingError, "the server's answer is not HTTP: "),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, FramingError, "the server's answer is not"),
        (ok(b"<html>"), TransportError, "the server answered HTTP 200 and no JSON-RPC"),
        (ok(call(9)), TransportError, "the server answered HTTP 200 and no JSON-RPC"),
        (ok(b"x" * 2000), TransportError, "the answer is over the limit of 1,000 bytes"),
        (
            b"HTTP/1.1 302 Found\r\nlocation: http://x/\r\ncontent-length: 0\r\n\r\n",
            TransportError,
            "the server redirects to http://x/ (HTTP 302)",
        ),
        (
            b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\noops",
            TransportError,
            "the server answered HTTP 502 and no JSON-RPC",
        ),
    ],
)
async def test_a_response_that_cannot_be_used_fails_its_message(
    raw: bytes, kind: type[TransportError], message: str
) -> None:
    limits = Limits(max_message_bytes=1000)
    async with scripted(answering(raw)) as url, channel_to(url, limits=limits) as both:
        channel, replies = both
        channel.send(call(1))
        await replies.until(lambda: bool(replies.failed_sends))
        ((sent, error),) = replies.failed_sends
        assert (sent, type(error), error.message[: len(message)]) == (call(1), kind, message)
        assert replies.messages == []


async def test_a_body_that_ends_with_the_connection() -> None:
    raw = b"HTTP/1.0 200 OK\r\n\r\n" + answer(1)
    async with scripted(answering(raw)) as url, channel_to(url) as (channel, replies):
        channel.send(call(1))
        await replies.received(1)
        assert replies.replies == [(call(1), answer(1))]


@pytest.mark.req("F-30")
async def test_a_response_that_nobody_asked_for_is_dropped_with_its_connection() -> None:
    first = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not first.is_set():
            first.set()
            writer.write(ok(answer(9)))
            assert await reader.read() == b""
            return
        await read_request(reader)
        writer.write(ok(answer(1)) + ok(answer(9)))
        await reader.read()

    async with scripted(script) as url, channel_to(url) as (channel, replies):
        await first.wait()
        await asyncio.sleep(0.05)
        channel.send(call(1))
        await replies.received(1)
        channel.send(call(1))
        await replies.received(2)
        assert (replies.replies, replies.failed_sends) == ([(call(1), answer(1))] * 2, [])


# Closing


@pytest.mark.req("F-20")
async def test_closing_waits_for_what_is_under_way() -> None:
    async with serving() as site:
        channel = await open_http(site.listener.url, Options(pool_size=2))
        replies = Replies()
        channel.start(replies)
        for number in range(10):
            channel.send(answer(number))
        channel.close()
        channel.send(answer(11))
        channel.close()
        assert await replies.ended() is None
        assert (len(replies.replies), replies.ends, replies.failed_sends) == (10, [None], [])
        await site.until_connections(0)


@pytest.mark.req("F-20")
async def test_closing_an_idle_channel() -> None:
    async with serving() as site:
        channel = await open_http(site.listener.url, Options())
        replies = Replies()
        channel.start(replies)
        channel.close()
        assert replies.ends == []  # never within close
        assert await replies.ended() is None
        channel.abort()
        await site.until_connections(0)
        assert replies.ends == [None]


@pytest.mark.req("F-20", "F-24")
async def test_aborting_drops_what_is_under_way() -> None:
    async with scripted(silent) as url:
        channel = await open_http(url, Options(pool_size=2))
        replies = Replies()
        channel.start(replies)
        for number in range(5):
            channel.send(call(number))
        channel.abort()
        assert await replies.ended() is None
        assert (replies.ends, replies.failed_sends) == ([None], [])


@pytest.mark.req("F-20", "F-28")
async def test_nothing_is_told_after_the_end() -> None:
    async with scripted(silent) as url:
        channel = await open_http(url, Options(limits=Limits(max_queued_bytes=1), pool_size=1))
        replies = Replies()
        channel.start(replies)
        channel.send(call(1))
        channel.abort()
        assert await replies.ended() is None
        channel.failed(call(2), TransportError())
        assert (replies.ends, replies.failed_sends) == ([None], [])


@pytest.mark.req("F-24")
async def test_closing_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transports.http.client.CLOSE_SECONDS", 0.05)

    async with scripted(silent) as url:
        channel = await open_http(url, Options())
        replies = Replies()
        channel.start(replies)
        channel.send(call(1))
        channel.close()
        assert await replies.ended() is None
        assert replies.failed_sends == []
