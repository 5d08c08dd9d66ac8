"""`connect` and `serve`: one program over every transport, chosen by the URL alone."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from accord import (
    Backoff,
    BusyError,
    ConnectError,
    ConnectionLostError,
    Context,
    Limits,
    Peer,
    Router,
    RpcError,
    ServerLimits,
    connect,
    serve,
)
from tests.patience import PATIENCE

URLS = {
    "memory": "memory:test",
    "tcp": "tcp://127.0.0.1:0",
    "tcp6": "tcp://[::1]:0",
    "tls": "tls://127.0.0.1:0",
    "unix": "unix://{folder}/socket",
    "ws": "ws://127.0.0.1:0/rpc",
    "wss": "wss://127.0.0.1:0/rpc",
    "http": "http://127.0.0.1:0/rpc",
    "https": "https://127.0.0.1:0/rpc",
}
DUPLEX = [name for name in URLS if not name.startswith("http")]


class Place:
    """Where to serve, and the options for both ends."""

    def __init__(self, name: str, folder: Path, tls: Any) -> None:
        self.url = URLS[name].format(folder=folder)
        self.server: dict[str, Any] = {}
        self.client: dict[str, Any] = {}
        if name in ("tls", "wss", "https"):
            self.server["tls"], self.client["tls"] = tls


@pytest.fixture
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    server_tls: ssl.SSLContext,
    client_tls: ssl.SSLContext,
) -> Place:
    return Place(request.param, tmp_path, (server_tls, client_tls))


everywhere = pytest.mark.parametrize("place", URLS, indirect=True)
wherever_both_call = pytest.mark.parametrize("place", DUPLEX, indirect=True)


def make_router() -> Router:
    router = Router()

    @router.method
    def add(a: int, b: int) -> int:
        return a + b

    @router.method
    async def call_back(method: str, params: list[Any], context: Context) -> Any:
        return await context.call(method, params)

    @router.method
    async def hang(context: Context) -> None:
        context.state["hanging"] = True
        await asyncio.Event().wait()

    return router


@pytest.mark.req("F-11", "F-12", "F-19")
@everywhere
async def test_calls_notifications_batches_and_errors_work_the_same_everywhere(
    place: Place,
) -> None:
    router = make_router()
    told: asyncio.Queue[str] = asyncio.Queue()
    router.add(told.put_nowait, name="tell")
    async with (
        serve(router, place.url, **place.server) as server,
        connect(server.url, **place.client) as peer,
    ):
        assert await peer.call("add", [1, 2]) == 3
        assert await asyncio.gather(*(peer.call("add", [n, n]) for n in range(50))) == [
            2 * n for n in range(50)
        ]
        await peer.notify("tell", ["a secret"])
        assert await asyncio.wait_for(told.get(), PATIENCE) == "a secret"
        async with peer.batch() as batch:
            calls = [batch.call("add", [n, 1]) for n in range(3)]
            batch.notify("tell", ["é" * 100])
        assert [await call for call in calls] == [1, 2, 3]
        assert await asyncio.wait_for(told.get(), PATIENCE) == "é" * 100
        with pytest.raises(RpcError, match="Method not found: nope"):
            await peer.call("nope")
        assert server.connections >= 1
        assert server.statistics.requests_received == 55


@pytest.mark.req("F-12", "F-19")
@wherever_both_call
async def test_both_ends_call_each_other_over_every_connection(place: Place) -> None:
    clients: list[Peer] = []
    router, client_router = make_router(), make_router()
    async with (
        serve(router, place.url, on_connect=clients.append, **place.server) as server,
        connect(server.url, client_router, **place.client) as peer,
    ):
        assert await peer.call("call_back", ["add", [20, 22]]) == 42
        assert await clients[0].call("add", [1, 1]) == 2
        assert server.peers == set(clients)


@pytest.mark.req("F-12")
@pytest.mark.parametrize("place", ["http", "https"], indirect=True)
async def test_over_http_a_server_cannot_call_its_client_and_says_so(place: Place) -> None:
    async with (
        serve(make_router(), place.url, **place.server) as server,
        connect(server.url, **place.client) as peer,
    ):
        with pytest.raises(RpcError, match="the caller cannot be called back over http"):
            await peer.call("call_back", ["add", [1, 2]])


@pytest.mark.req("F-18", "F-20")
@wherever_both_call
async def test_a_server_that_closes_fails_its_clients_calls_at_once(place: Place) -> None:
    async with serve(make_router(), place.url, drain=0.01, **place.server) as server:
        async with connect(server.url, **place.client) as peer:
            hanging = peer.begin("hang", timeout=None)
            assert await peer.call("add", [1, 2]) == 3
            await server.close()
            with pytest.raises((BusyError, ConnectionLostError)):
                await asyncio.wait_for(hanging.result(), PATIENCE)
            await asyncio.wait_for(peer.wait_closed(), PATIENCE)
        assert server.peers == set()
        with pytest.raises(ConnectError):
            await connect(server.url, **place.client)


@pytest.mark.req("F-29")
@everywhere
async def test_a_message_over_the_limit_is_refused_and_the_next_one_served(place: Place) -> None:
    async with (
        serve(
            make_router(), place.url, limits=Limits(max_message_bytes=1000), **place.server
        ) as server,
        connect(server.url, **place.client) as peer,
    ):
        too_large = peer.begin("add", ["x" * 2000, 1], timeout=5)
        assert await peer.call("add", [1, 2]) == 3
        if place.url.startswith("http"):
            with pytest.raises(RpcError) as refused:
                await too_large
            assert refused.value.code == -32012
            assert refused.value.data["maxSize"] == 1000
        else:
            too_large.cancel()
            assert next(iter(server.peers)).statistics.messages_refused == 1


@pytest.mark.req("F-28")
@pytest.mark.parametrize("place", ["tcp", "unix", "ws", "http"], indirect=True)
async def test_connections_beyond_the_limit_are_turned_away(place: Place) -> None:
    limits = ServerLimits(max_connections=2)
    async with serve(make_router(), place.url, server_limits=limits) as server:
        async with connect(server.url) as one, connect(server.url) as two:
            assert await one.call("add", [1, 2]) == await two.call("add", [1, 2]) == 3
            with pytest.raises(RpcError):
                async with connect(server.url) as three:
                    await three.call("add", [1, 2])
            assert await one.call("add", [1, 2]) == 3
        async with connect(server.url) as four:
            assert await four.call("add", [1, 2]) == 3


@pytest.mark.parametrize("url", ["", "127.0.0.1:80", "ftp://x", "ftp://[x", "nonsense", "tcp"])
async def test_a_url_without_a_known_scheme_is_refused_with_the_schemes_there_are(url: str) -> None:
    with pytest.raises(ConnectError, match="stdio, tcp, tls, unix, ws, wss, http, https, memory"):
        await connect(url)
    with pytest.raises(ConnectError, match="has no scheme that Accord knows"):
        await serve(Router(), url)


@pytest.mark.req("F-27")
@pytest.mark.parametrize("scheme", ["tcp", "tls", "ws", "wss", "http", "https"])
@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:99999", "127.0.0.1:x", "[::1:80", "me:secret@127.0.0.1:1", ":1", "a..b:1"],
)
async def test_a_url_without_a_usable_address_is_refused(scheme: str, address: str) -> None:
    url = f"{scheme}://{address}"
    with pytest.raises(ConnectError) as refused:
        await connect(url)
    assert "secret" not in refused.value.message
    with pytest.raises(ConnectError) as unserved:
        await serve(Router(), url, tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    assert "secret" not in unserved.value.message


@pytest.mark.req("F-27")
@everywhere
async def test_an_address_that_is_taken_is_refused(place: Place) -> None:
    async with serve(Router(), place.url, **place.server) as server:
        with pytest.raises(ConnectError):
            await serve(Router(), server.url, **place.server)


@pytest.mark.req("F-27")
@pytest.mark.parametrize("scheme", ["tcp", "ws", "http"])
async def test_nobody_there_is_a_connect_error_that_says_what_to_do(scheme: str) -> None:
    async with serve(Router(), "tcp://127.0.0.1:0") as server:
        gone = server.url.replace("tcp", scheme)
    with pytest.raises(ConnectError) as refused:
        await connect(gone)
    assert refused.value.recoverable
    assert "Check that the server runs" in refused.value.advice


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="framming"):
        connect("tcp://127.0.0.1:1", framming="newline")  # type: ignore[call-arg]


async def test_an_on_connect_that_fails_costs_its_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = [True]

    def on_connect(peer: Peer) -> None:
        if failing.pop():
            failing.append(False)
            raise RuntimeError("no")
        failing.append(False)

    async with serve(make_router(), "tcp://127.0.0.1:0", on_connect=on_connect) as server:
        async with connect(server.url) as peer:
            with pytest.raises(RpcError):
                await peer.call("add", [1, 2])
        async with connect(server.url) as peer:
            assert await peer.call("add", [1, 2]) == 3
    assert "on_connect failed" in caplog.text


@pytest.mark.req("F-18", "F-20", "F-27")
@pytest.mark.parametrize("place", ["tcp", "unix", "ws"], indirect=True)
async def test_a_client_finds_its_server_again_after_a_restart(place: Place) -> None:
    backoff = Backoff(initial=0.01, longest=0.1)
    first = await serve(make_router(), place.url, drain=0)
    async with connect(first.url, reconnect=backoff) as peer:
        assert await peer.call("add", [1, 2]) == 3
        lost = peer.begin("hang")
        await first.close()
        with pytest.raises(RpcError):
            await lost
        waiting = asyncio.create_task(peer.call("add", [2, 2]))
        async with serve(make_router(), first.url, drain=0):
            assert await asyncio.wait_for(waiting, PATIENCE) == 4
