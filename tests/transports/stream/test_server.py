"""Listening for streams."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from pathlib import Path

import pytest

from accord.jsonrpc.protocol.channel import Channel, ServerLimits
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.stream.endpoints import listen_stream, open_stream
from tests.transports.recorder import PATIENCE, Recorder
from tests.transports.stream.sockets import LOCAL, Service, raw_client, serving

BOTH_LOOPS = True


async def answers(service: Service) -> bool:
    """Whether a message to `service` comes back."""
    channel = await open_stream(service.listener.url, Options())
    recorder = Recorder()
    channel.start(recorder)
    channel.send(b"hello")
    assert await recorder.received(1) == [b"hello"]
    channel.close()
    return await recorder.ended() is None


async def handshakes(service: Service, count: int) -> None:
    """Wait until so many handshakes are under way; nothing tells when one begins or ends."""
    async with asyncio.timeout(PATIENCE):
        while service.listener.connections != count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def refuse(channel: Channel) -> None:
    raise RuntimeError("no")


@pytest.mark.req("F-19")
@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
async def test_port_0_picks_a_port_and_the_url_tells_it(host: str) -> None:
    async with serving(f"tcp://{host}:0") as service:
        assert service.address[1] > 0
        assert await answers(service)


@pytest.mark.req("F-19")
async def test_host_with_several_addresses_is_served_at_each_of_them() -> None:
    async with serving("tcp://localhost:0") as first:
        port = first.address[1]
    async with serving(f"tcp://localhost:{port}") as service:
        assert service.listener.url == f"tcp://localhost:{port}"
        known = socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)
        for host in {str(address[0]) for _, _, _, _, address in known}:
            channel = await open_stream(
                f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}", Options()
            )
            channel.abort()


async def test_address_can_be_used_again_after_close() -> None:
    async with serving() as service:
        assert await answers(service)
    async with serving(service.listener.url) as again:
        assert again.listener.url == service.listener.url
        assert await answers(again)


@pytest.mark.req("F-27")
async def test_address_in_use_says_so() -> None:
    async with serving() as service:
        with pytest.raises(ConnectError) as caught:
            await listen_stream(service.listener.url, refuse, Options())
    assert (
        caught.value.message == f"cannot listen on {service.listener.url}: Address already in use"
    )
    assert "port 0" in caught.value.advice


@pytest.mark.req("F-22")
async def test_port_can_be_shared_with_other_processes() -> None:
    options = Options(reuse_port=True)
    async with serving(options=options) as one, serving(one.listener.url, options) as other:
        assert one.listener.url == other.listener.url
        while not (one.channels and other.channels):
            assert await answers(one)


async def test_connections_outlive_their_listener() -> None:
    async with serving() as service, raw_client(service) as client:
        await client.send(b"1\n")
        assert await client.read(2) == b"1\n"
        await service.listener.close()
        await client.send(b"2\n")
        assert await client.read(2) == b"2\n"
        assert service.listener.connections == 1
        with pytest.raises(ConnectError):
            await open_stream(service.listener.url, Options())


async def test_connection_that_cannot_be_accepted_is_closed_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = await listen_stream(LOCAL, refuse, Options())
    channel = await open_stream(listener.url, Options())
    recorder = Recorder()
    channel.start(recorder)
    await recorder.ended()
    assert f"a connection to {listener.url} could not be accepted" in caplog.text
    assert listener.connections == 0
    await listener.close()


# TLS


@pytest.mark.req("F-19", "F-27")
async def test_tls_without_a_certificate_says_so() -> None:
    with pytest.raises(ConnectError) as caught:
        await listen_stream("tls://127.0.0.1:0", refuse, Options())
    assert caught.value.message == "cannot listen on tls://127.0.0.1:0: TLS needs a certificate"
    assert not caught.value.recoverable
    assert "SSLContext" in caught.value.advice


async def test_plain_url_is_served_plainly_though_a_certificate_is_there(
    server_tls: ssl.SSLContext,
) -> None:
    async with serving(options=Options(tls=server_tls)) as service:
        assert await answers(service)


@pytest.mark.req("F-30")
async def test_failed_handshake_leaves_nothing_behind(server_tls: ssl.SSLContext) -> None:
    async with serving("tls://127.0.0.1:0", Options(tls=server_tls)) as service:
        async with raw_client(service) as client:
            await client.send(b"GET / HTTP/1.1\r\n\r\n")
            await client.read_to_end()
        await handshakes(service, 0)
        assert service.channels == []


@pytest.mark.req("F-24", "F-30")
async def test_handshake_that_is_not_finished_in_time_is_cut(server_tls: ssl.SSLContext) -> None:
    options = Options(tls=server_tls, server_limits=ServerLimits(header_seconds=0.1))
    async with serving("tls://127.0.0.1:0", options) as service, raw_client(service) as client:
        assert await client.read_to_end() == b""
        await handshakes(service, 0)


@pytest.mark.req("F-24")
async def test_close_ends_handshakes_that_are_under_way(server_tls: ssl.SSLContext) -> None:
    async with (
        serving("tls://127.0.0.1:0", Options(tls=server_tls)) as service,
        raw_client(service) as client,
    ):
        await handshakes(service, 1)
        await service.listener.close()
        assert service.listener.connections == 0
        assert await client.read_to_end() == b""


# Unix sockets


async def test_unix_socket_is_removed_at_close(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    async with serving(f"unix://{path}") as service:
        assert path.is_socket()
        assert await answers(service)
    assert not path.exists()


async def test_stale_unix_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as crashed:
        crashed.bind(str(path))
    assert path.is_socket()
    async with serving(f"unix://{path}") as service:
        assert await answers(service)


async def test_live_unix_socket_is_left_alone(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/socket"
    async with serving(url) as service:
        with pytest.raises(ConnectError) as caught:
            await listen_stream(url, refuse, Options())
        assert caught.value.message == f"cannot listen on {url}: another process listens there"
        assert await answers(service)


async def test_busy_unix_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))  # fills the queue of connections
        with pytest.raises(ConnectError, match="another process listens there"):
            await listen_stream(f"unix://{path}", refuse, Options())
        assert path.is_socket()


async def test_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(ConnectError, match="it is no socket"):
        await listen_stream(f"unix://{path}", refuse, Options())
    assert path.read_text() == "data"


async def test_unix_socket_of_another_server_is_left_alone_at_close(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    async with serving(f"unix://{path}"):
        os.rename(path, tmp_path / "moved")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.is_socket()


async def test_unix_socket_in_a_missing_folder_says_so(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/missing/socket"
    with pytest.raises(ConnectError) as caught:
        await listen_stream(url, refuse, Options())
    assert caught.value.message == f"cannot listen on {url}: No such file or directory"
