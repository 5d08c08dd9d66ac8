"""Connections that are cut at every byte of a message, at either end, in an orderly way or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from accord import Router, TransportError, connect
from accord.transports.websocket.frames import Opcode, frame
from accord.transports.websocket.handshake import accept_key
from tests.hostile.attacker import (
    PATIENCE,
    Attacker,
    attacking,
    call,
    on_wire,
    open_files,
    until,
)
from tests.hostile.stage import MIB, URLS, every_transport, served

BOTH_LOOPS = True
Leave = Callable[[Attacker], None]
each_way_to_go = pytest.mark.parametrize("leave", [Attacker.leave, Attacker.reset])


@pytest.mark.req("F-18", "F-24", "F-30")
@each_way_to_go
@every_transport
async def test_a_client_that_goes_at_any_byte_of_a_message_leaves_nothing_behind(
    scheme: str, leave: Leave
) -> None:
    running = started = 0
    router = Router()

    @router.method
    async def wait() -> None:
        nonlocal running, started
        running, started = running + 1, started + 1
        try:
            await asyncio.sleep(1000)
        finally:
            running -= 1

    message = on_wire(scheme, call("wait"))
    async with served(scheme, router, most_bytes=4 * MIB) as server:
        for size in range(1, len(message) + 1):
            async with attacking(server.url) as attacker:
                await attacker.send(message[:size])
                leave(attacker)
        async with attacking(server.url) as attacker:
            await attacker.say(call("wait"))
            await until(lambda: running > 0)
            leave(attacker)
            await until(lambda: running == 0)
    assert started <= 2  # only what was whole was ever begun


def answer_on_wire(scheme: str) -> bytes:
    """The bytes by which a server answers the first call of a client."""
    answer = b'{"jsonrpc":"2.0","id":1,"result":[1,2,3]}'
    if scheme == "tcp":
        return answer + b"\n"
    if scheme == "ws":
        return frame(Opcode.TEXT, answer)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(answer) + answer


class CuttingServer(asyncio.Protocol):
    """Answers what comes with the first bytes of an answer, then goes."""

    size = 0
    """How many bytes of the next answer are sent."""

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme
        self._opened = scheme != "ws"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._opened:
            at = data.lower().index(b"sec-websocket-key: ") + len("sec-websocket-key: ")
            key = data[at : at + 24].decode()
            self._opened = True
            self._transport.write(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\nSec-WebSocket-Accept: %b\r\n\r\n"
                % accept_key(key).encode()
            )
            return
        self._transport.write(answer_on_wire(self._scheme)[: CuttingServer.size])
        self._transport.close()


@pytest.mark.req("F-18", "F-30")
@every_transport
async def test_a_server_that_goes_at_any_byte_of_its_answer_fails_the_call_at_once(
    scheme: str,
) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: CuttingServer(scheme), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    whole = len(answer_on_wire(scheme))
    async with server:
        files = open_files()
        for size in range(whole + 1):
            CuttingServer.size = size
            async with connect(URLS[scheme].replace(":0", f":{port}")) as peer:
                if size == whole:
                    assert await peer.call("m") == [1, 2, 3]
                else:
                    with pytest.raises(TransportError):
                        await peer.call("m", timeout=PATIENCE)
                assert peer.pending == 0
        await until(lambda: open_files() == files)
