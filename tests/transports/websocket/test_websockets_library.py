"""Our ends against those of the `websockets` library."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosedError, InvalidStatus

import accord
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.errors import ConnectError, ConnectionLostError
from accord.transports.options import Options
from accord.transports.websocket.endpoints import open_websocket
from tests.transports.recorder import Echo, Recorder
from tests.transports.websocket.raw import recording, serving

pytestmark = pytest.mark.req("F-17", "F-19")

MESSAGES = ["1", "x" * 126, "κόσμε" * 30_000]


async def test_its_client_talks_to_our_server() -> None:
    async with serving(Echo) as server, connect(server.url) as theirs:
        assert theirs.response is not None
        assert "Sec-WebSocket-Extensions" not in theirs.response.headers
        for message in MESSAGES:
            await theirs.send(message)
            assert await theirs.recv() == message
        await theirs.send(["frag", "men", "ts"])
        assert await theirs.recv() == "fragments"
        await (await theirs.ping(b"there?"))
        await theirs.close()
        assert (theirs.close_code, await server.receivers[0].ended()) == (1000, None)


async def test_its_client_is_told_that_our_server_goes_away() -> None:
    server = await accord.serve(accord.Router(), "ws://127.0.0.1:0/")
    async with connect(server.url) as theirs:
        await server.close()
        await theirs.wait_closed()
        assert (theirs.close_code, theirs.close_reason) == (1001, "")


async def test_its_client_sees_how_our_server_closes() -> None:
    async with serving(recording) as server, connect(server.url) as theirs:
        server.channels[0].close()
        await theirs.wait_closed()
        assert (theirs.close_code, theirs.close_reason) == (1000, "")
        assert await server.receivers[0].ended() is None


@pytest.mark.req("F-29")
async def test_its_client_stays_connected_after_a_message_over_the_limit() -> None:
    options = Options(limits=Limits(max_message_bytes=1_000))
    async with serving(Echo, options) as server, connect(server.url) as theirs:
        await theirs.send("x" * 1_001)
        await theirs.send("next")
        assert await theirs.recv() == "next"
        assert len(server.receivers[0].refusals) == 1


@pytest.mark.req("F-30")
async def test_its_client_is_told_what_it_broke() -> None:
    async with serving(Echo) as server, connect(server.url) as theirs:
        await theirs.send(b"\xff", text=True)
        with pytest.raises(ConnectionClosedError) as caught:
            await theirs.recv()
        assert caught.value.rcvd is not None
        assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (1007, "text is not UTF-8")


async def test_its_client_reads_why_it_is_refused() -> None:
    async with serving(Echo) as server:
        with pytest.raises(InvalidStatus) as caught:
            await connect(f"{server.url}elsewhere")
        assert caught.value.response.status_code == 404
        assert caught.value.response.body == b"There is nothing at this path.\n"


async def test_our_client_talks_to_its_server() -> None:
    async def echo(theirs: ServerConnection) -> None:
        async for message in theirs:
            await theirs.send([message, message] if isinstance(message, str) else message)

    async with serve(echo, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        channel = await open_websocket(f"ws://127.0.0.1:{port}/", Options(ping_seconds=0.02))
        receiver = Recorder()
        channel.start(receiver)
        for message in MESSAGES:
            channel.send(message.encode())
        assert await receiver.received(3) == [message.encode() * 2 for message in MESSAGES]
        await asyncio.sleep(0.1)  # its pongs keep the connection
        assert receiver.ends == []
        channel.close()
        assert await receiver.ended() is None


@pytest.mark.req("F-18")
async def test_our_client_hears_why_its_server_closes() -> None:
    async def overload(theirs: ServerConnection) -> None:
        await theirs.close(1013, "try later")

    async with serve(overload, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        channel = await open_websocket(f"ws://127.0.0.1:{port}/", Options())
        receiver = Recorder()
        channel.start(receiver)
        error = await receiver.ended()
        assert isinstance(error, ConnectionLostError)
        assert error.data == {"code": 1013, "reason": "try later"}


async def test_our_client_reads_why_its_server_refuses() -> None:
    async def nothing(theirs: ServerConnection) -> None:
        pass

    async with serve(nothing, "127.0.0.1", 0, origins=[None]) as server:
        port = server.sockets[0].getsockname()[1]
        options = Options(headers={"Origin": "http://evil.example"})
        with pytest.raises(ConnectError) as caught:
            await open_websocket(f"ws://127.0.0.1:{port}/", options)
        assert caught.value.data["status"] == 403
