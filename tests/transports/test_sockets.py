"""Accepting connections, when the system says no."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl

import pytest

from accord.transports import sockets as module
from accord.transports.options import Options
from accord.transports.sockets import Arrivals, bind_inet
from accord.transports.urls import parse_stream_address


class Greeter(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")
        transport.close()


@pytest.mark.req("F-28")
async def test_a_system_without_room_is_asked_again(
    server_tls: ssl.SSLContext,
    client_tls: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    accept = loop.sock_accept
    refusals = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))]

    async def accept_later(bound: socket.socket) -> tuple[socket.socket, object]:
        if refusals:
            raise refusals.pop()
        return await accept(bound)

    monkeypatch.setattr(loop, "sock_accept", accept_later)
    monkeypatch.setattr(module, "ACCEPT_PAUSE_SECONDS", 0.01)
    arrivals = Arrivals(
        parse_stream_address("tls://127.0.0.1:0"),
        Greeter,
        Options(tls=server_tls),
        has_room=lambda: True,
    )
    sockets = await bind_inet("127.0.0.1", 0, reuse_port=False)
    with caplog.at_level(logging.ERROR, "accord.transports"):
        await arrivals.start(sockets)
        port = sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_tls)
        assert await reader.read() == b"hello"
    writer.close()
    await writer.wait_closed()
    await arrivals.close()
    assert arrivals.under_way == 0
    assert caplog.messages == [
        "tls://127.0.0.1:0 cannot accept connections now: [Errno 24] Too many open files"
    ]
