"""Both ends of a WebSocket: opening it, and listening for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.jsonrpc.protocol.channel import Channel, ServerLimits
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.websocket.endpoints import (
    SPARE_CONNECTIONS,
    listen_websocket,
    open_websocket,
)
from tests.transports.recorder import PATIENCE, Echo, Recorder
from tests.transports.websocket.raw import (
    ANSWER,
    REQUEST,
    raw_client,
    raw_connection,
    recording,
    serving,
)

BOTH_LOOPS = True


@contextlib.asynccontextmanager
async def answering(*answer: bytes, stay: bool = False) -> AsyncIterator[str]:
    """A server that answers every request with these pieces; with `stay` it does not hang up."""
    done = asyncio.Event()
    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in answer:
                writer.write(piece)
                await asyncio.sleep(0.02 if len(answer) > 1 else 0)
        if stay:
            await done.wait()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"ws://127.0.0.1:{port}/"
    finally:
        done.set()
        server.close()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(task for task in serving if task is not None))


async def error_of(url: str, **options: Any) -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        await open_websocket(url, Options(**options))
    return caught.value


async def test_a_url_that_names_no_websocket_is_refused() -> None:
    error = await error_of("ws://127.0.0.1:1/#top")
    assert error.message == "cannot use the address 'ws://127.0.0.1:1/#top': it has a fragment"
    assert not error.recoverable


@pytest.mark.req("F-30")
async def test_headers_with_line_breaks_are_refused() -> None:
    error = await error_of("ws://127.0.0.1:1/", headers={"X": "a\r\nY: b"})
    assert error.message == (
        "cannot connect to ws://127.0.0.1:1/: "
        "the value of the header X has characters that no header has"
    )
    assert error.advice == "Check the URL and the options."
    assert not error.recoverable


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("answer", "status", "body", "recoverable"),
    [
        (b"HTTP/1.1 401 No\r\nContent-Length: 6\r\n\r\ntoken?", 401, "token?", False),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 503, "", True),
        (b"HTTP/1.1 429 Slow\r\n\r\nlater", 429, "later", True),
        (b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 404, "0", False),
        (b"HTTP/1.0 500 Oops\r\n\r\n" + b"x" * 5_000, 500, "x" * 1_000, True),
    ],
)
async def test_another_status_than_101_is_an_error_that_has_it(
    answer: bytes, status: int, body: str, recoverable: bool
) -> None:
    async with answering(answer) as url:
        error = await error_of(url)
    told = f": {body}" if body else ""
    assert error.message == f"{url} answered with status {status}{told}"
    assert error.data == {"status": status, "body": body}
    assert error.recoverable is recoverable


async def test_a_whole_refusal_is_not_waited_out() -> None:
    answer = b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"
    async with answering(answer, stay=True) as url:
        assert (await error_of(url)).data == {"status": 403, "body": "no"}


async def test_a_refusal_may_come_in_pieces() -> None:
    head = b"HTTP/1.1 403 No\r\nContent-Length: 12\r\n\r\n"
    async with answering(head[:20], head[20:], b"no ", b"entry", b" here", stay=True) as url:
        assert (await error_of(url)).data == {"status": 403, "body": "no entry her"}


async def test_a_redirection_says_where_to_connect_instead() -> None:
    answer = b"HTTP/1.1 301 Moved\r\nLocation: wss://b/\r\nContent-Length: 0\r\n\r\n"
    async with answering(answer) as url:
        error = await error_of(url)
    assert (error.advice, error.recoverable) == ("Connect to wss://b/ instead.", False)


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ANSWER, "the server's Sec-WebSocket-Accept does not belong to our key"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "the server's answer is not HTTP: "),
        (b"\x15\x03\x03\x00\x02\x02\x46", "This is not HTTP."),
        (b"HTTP/1.1 101 Switching\r\n" + b"x" * 20_000, "The headers are over the limit of 16,384"),
    ],
)
async def test_an_answer_that_opens_no_websocket_is_an_error(answer: bytes, why: str) -> None:
    async with answering(answer, stay=True) as url:
        error = await error_of(url)
    assert error.message.startswith(f"no WebSocket at {url}: {why}")
    assert not error.recoverable


@pytest.mark.req("F-27")
async def test_a_server_that_hangs_up_is_an_error() -> None:
    async with answering() as url:
        error = await error_of(url)
    assert error.message == f"{url} ended the connection during the handshake"
    assert error.recoverable


@pytest.mark.req("F-27")
async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with answering(stay=True) as url:
        error = await error_of(url, connect_seconds=0.05)
    assert error.message == f"no connection to {url} within 0.05 s"


@pytest.mark.req("F-27")
async def test_a_port_that_nobody_listens_on_is_an_error() -> None:
    async with serving(Echo) as server:
        url = server.url
    error = await error_of(url)
    assert error.message.startswith(f"cannot connect to {url}: ")
    assert error.recoverable


async def test_a_certificate_that_is_not_trusted_is_an_error(server_tls: ssl.SSLContext) -> None:
    async with serving(Echo, Options(tls=server_tls), "wss://127.0.0.1:0/") as server:
        error = await error_of(server.url)
        assert error.message.startswith(f"the certificate of {server.url} is not trusted: ")
        assert not error.recoverable


async def test_a_caller_that_is_cancelled_leaves_no_connection() -> None:
    async with answering(stay=True) as url:
        opening = asyncio.create_task(open_websocket(url, Options()))
        await asyncio.sleep(0.05)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening


async def test_a_subprotocol_that_was_offered_may_be_chosen() -> None:
    async with serving(Echo) as server:
        options = Options(headers={"Sec-WebSocket-Protocol": "jsonrpc"})
        channel = await open_websocket(server.url, options)
        assert "sec-websocket-protocol" not in channel.info.details["headers"]
        channel.abort()


def nobody(channel: Channel) -> None:
    raise AssertionError("nobody was to be accepted")


async def test_the_url_of_a_listener_has_the_real_port_and_the_path() -> None:
    async with serving(Echo, url="ws://127.0.0.1:0/rpc/v1") as server:
        scheme, port, path = server.url.replace("/rpc", ":/rpc").rsplit(":", 2)
        assert (scheme, path) == ("ws://127.0.0.1", "/rpc/v1")
        assert int(port) > 0
        channel = await open_websocket(server.url, Options())
        channel.abort()


async def test_ipv6_addresses_are_in_brackets() -> None:
    async with serving(Echo, url="ws://[::1]:0") as server:
        assert server.url.startswith("ws://[::1]:")
        channel = await open_websocket(server.url, Options())
        assert channel.info.address == server.url.removeprefix("ws://").removesuffix("/")
        channel.abort()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "ws://127.0.0.1:0/?a=1",
            "cannot use the address 'ws://127.0.0.1:0/?…': a query is for clients",
        ),
        ("wss://127.0.0.1:0/", "cannot listen on wss://127.0.0.1:0/: TLS needs a certificate"),
        ("ws://192.0.2.1:0/", "cannot listen on ws://192.0.2.1:0/: Cannot assign requested"),
        ("ws:///", "cannot use the address 'ws:///': it needs a scheme and a host"),
    ],
)
async def test_where_nobody_can_listen_an_error_says_why(url: str, message: str) -> None:
    with pytest.raises(ConnectError) as caught:
        await listen_websocket(url, nobody, Options())
    assert caught.value.message.startswith(message)


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("request_bytes", "status", "text"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 426, "This is a WebSocket: connect with ws://"),
        (REQUEST.replace(b"GET / ", b"GET /x "), 404, "There is nothing at this path."),
        (REQUEST.replace(b": 13", b": 12"), 426, "Only version 13 of the WebSocket protocol"),
        (REQUEST.replace(b"\r\n\r\n", b"\r\nOrigin: http://evil.example\r\n\r\n"), 403, "The ser"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 405, "A WebSocket is"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "This is not HTTP."),
        (b"G" * 20_000, 431, "The headers are over the limit of 16,384 bytes."),
    ],
)
async def test_what_opens_no_websocket_is_answered_readably(
    request_bytes: bytes, status: int, text: str
) -> None:
    async with serving(recording) as server:
        async with raw_connection(server.url) as raw:
            raw.write(request_bytes)
            head, _, body = (await raw.response()).decode().partition("\r\n\r\n")
        assert head.startswith(f"HTTP/1.1 {status} ")
        assert "Connection: close" in head
        assert body.startswith(text)
        assert server.channels == []


async def test_a_page_of_the_servers_own_host_is_let_in() -> None:
    async with serving(recording) as server:
        origin = server.url.replace("ws://", "http://").removesuffix("/")
        channel = await open_websocket(server.url, Options(headers={"Origin": origin}))
        channel.abort()
        assert len(server.channels) == 1


@pytest.mark.req("F-28")
async def test_connections_over_the_limit_are_told_so_and_a_place_that_gets_free_is_given() -> None:
    options = Options(server_limits=ServerLimits(max_connections=2))
    async with serving(recording, options) as server:
        async with raw_client(server.url), raw_connection(server.url):
            with pytest.raises(ConnectError) as caught:
                await open_websocket(server.url, Options())
            assert caught.value.recoverable
            assert caught.value.data == {
                "status": 503,
                "body": "There are 2 connections, the limit.",
            }
            assert server.listener.connections >= 2
        await server.emptied()
        channel = await open_websocket(server.url, Options())
        channel.abort()


@pytest.mark.req("F-28")
async def test_a_crowd_over_the_limit_is_cut_without_a_word() -> None:
    options = Options(server_limits=ServerLimits(max_connections=1))
    async with serving(recording, options) as server, contextlib.AsyncExitStack() as stack:
        crowd = [
            await stack.enter_async_context(raw_connection(server.url))
            for _ in range(1 + SPARE_CONNECTIONS + 1)
        ]
        assert await crowd[-1].response() == b""
        assert (await crowd[-2].response()).startswith(b"HTTP/1.1 503 ")


@pytest.mark.req("F-28")
async def test_handshakes_of_tls_count_as_connections(server_tls: ssl.SSLContext) -> None:
    options = Options(tls=server_tls, server_limits=ServerLimits(max_connections=1))
    async with serving(recording, options, "wss://127.0.0.1:0/") as server:
        async with raw_connection(server.url) as silent, raw_connection(server.url) as refused:
            assert await refused.reader.read() == b""
            assert server.listener.connections == 1
            silent.writer.transport.abort()
        await server.emptied()


async def test_refusals_are_readable_under_tls(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with serving(recording, Options(tls=server_tls), "wss://127.0.0.1:0/") as server:
        with pytest.raises(ConnectError) as caught:
            await open_websocket(f"{server.url}elsewhere", Options(tls=client_tls))
        assert caught.value.data == {"status": 404, "body": "There is nothing at this path."}


async def test_closing_drops_handshakes_and_leaves_open_connections_to_their_owners() -> None:
    async with serving(Echo) as server, raw_connection(server.url) as handshake:
        channel = await open_websocket(server.url, Options())
        receiver = Recorder()
        channel.start(receiver)
        await server.listener.close()
        with pytest.raises(ConnectError):
            await open_websocket(server.url, Options())
        assert await handshake.response() == b""
        channel.send(b"still here")
        assert await receiver.received(1) == [b"still here"]
        channel.close()
        assert await receiver.ended() is None


async def test_a_connection_that_its_owner_cannot_accept_is_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = await listen_websocket("ws://127.0.0.1:0/", nobody, Options())
    with caplog.at_level(logging.ERROR, "accord.transports"):
        channel = await open_websocket(listener.url, Options())
        receiver = Recorder()
        channel.start(receiver)
        assert await receiver.ended() is not None
    assert caplog.messages == [f"a connection to {listener.url} could not be accepted"]
    await listener.close()
    assert listener.connections == 0


async def test_two_listeners_may_share_a_port() -> None:
    first = await listen_websocket("ws://127.0.0.1:0/", nobody, Options(reuse_port=True))
    second = await listen_websocket(first.url, nobody, Options(reuse_port=True))
    with pytest.raises(ConnectError):
        await listen_websocket(first.url, nobody, Options())
    await first.close()
    await second.close()
