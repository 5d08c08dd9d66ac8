"""Connecting to a stream: what is said when it does not work."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.stream.endpoints import open_stream
from tests.transports.stream.sockets import serving

BOTH_LOOPS = True


async def refusal(url: str, options: Options | None = None) -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        await open_stream(url, options or Options())
    return caught.value


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


@pytest.mark.req("F-27")
async def test_refused_connection_may_be_tried_again() -> None:
    port = closed_port()
    error = await refusal(f"tcp://127.0.0.1:{port}")
    assert error.message.startswith(f"cannot connect to tcp://127.0.0.1:{port}: ")
    assert error.recoverable
    assert error.advice.startswith("Check that the server runs")
    assert isinstance(error.__cause__, ConnectionRefusedError)


@pytest.mark.req("F-27")
async def test_unknown_host_says_so() -> None:
    error = await refusal("tcp://no-such-host.invalid:7000")
    assert error.message.startswith("the host of tcp://no-such-host.invalid:7000 is unknown: ")
    assert "host name" in error.advice


@pytest.mark.req("F-27")
@pytest.mark.parametrize("host", ["x" * 64 + ".example", "a..b"])
async def test_impossible_host_says_so(host: str) -> None:
    error = await refusal(f"tcp://{host}:7000")
    assert error.message.startswith(f"the host of tcp://{host}:7000 is unknown: ")


@pytest.mark.req("F-27")
async def test_missing_unix_socket_says_so(tmp_path: Path) -> None:
    error = await refusal(f"unix://{tmp_path}/nothing")
    assert error.message == f"there is no socket unix://{tmp_path}/nothing"


@pytest.mark.req("F-27")
async def test_connecting_gives_up_after_its_time(client_tls: ssl.SSLContext) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"tls://127.0.0.1:{silent.getsockname()[1]}"
        error = await refusal(url, Options(tls=client_tls, connect_seconds=0.1))
    assert error.message == f"no connection to {url} within 0.1 s"
    assert error.recoverable


@pytest.mark.req("F-19", "F-27")
async def test_untrusted_certificate_is_refused_for_good(server_tls: ssl.SSLContext) -> None:
    async with serving("tls://127.0.0.1:0", Options(tls=server_tls)) as service:
        error = await refusal(service.listener.url)
        assert error.message == (
            f"the certificate of {service.listener.url} is not trusted: self-signed certificate"
        )
        assert not error.recoverable
        assert "SSLContext" in error.advice


@pytest.mark.req("F-19", "F-27")
async def test_server_without_tls_is_noticed(client_tls: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = f"tls://127.0.0.1:{listening.getsockname()[1]}"
        connecting = asyncio.ensure_future(refusal(url, Options(tls=client_tls)))
        connection, _ = await loop.sock_accept(listening)
        with connection:
            await loop.sock_recv(connection, 1000)
            await loop.sock_sendall(connection, b"this is no handshake")
            error = await connecting
    assert error.message.startswith(f"no TLS connection to {url}: ")
    assert not error.recoverable
