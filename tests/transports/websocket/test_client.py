"""Opening a WebSocket: what a server may answer, and what is told when it goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.websocket.client import open_websocket
from tests.transports.recorder import PATIENCE, Echo
from tests.transports.websocket.raw import ANSWER, serving

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
