"""The `websockets` library as client and as server of ours."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect as ws_connect
from websockets.asyncio.server import ServerConnection, serve as ws_serve
from websockets.exceptions import ConnectionClosedOK, InvalidStatus

from accord import (
    ConnectionLostError,
    Context,
    Limits,
    MessageTooLargeError,
    Peer,
    Router,
    RpcError,
    connect,
    serve,
)
from accord.cli.demo import demo_router

pytestmark = pytest.mark.req("F-12", "F-19")
UNICODE = "Straße, 日本語, 😀"


async def exchange(socket: ClientConnection, message: Any) -> Any:
    await socket.send(json.dumps(message))
    return json.loads(await socket.recv())


def request(id: Any, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


@asynccontextmanager
async def their_client(**options: Any) -> AsyncIterator[ClientConnection]:
    """Connected to our demo."""
    async with (
        serve(demo_router(), "ws://127.0.0.1:0/rpc") as server,
        ws_connect(server.url, **options) as socket,
    ):
        yield socket


async def test_their_client_calls_us() -> None:
    async with their_client() as socket:
        assert await exchange(socket, request("a", "add", [1, 2])) == {
            "jsonrpc": "2.0", "id": "a", "result": 3
        }  # fmt: skip
        assert await exchange(socket, request(1.5, "echo", {"value": UNICODE})) == {
            "jsonrpc": "2.0", "id": 1.5, "result": UNICODE
        }  # fmt: skip
        assert await exchange(socket, request(2, "fail", [7, "no", [1]])) == {
            "jsonrpc": "2.0", "id": 2, "error": {"code": 7, "message": "no", "data": [1]}
        }  # fmt: skip
    assert (socket.close_code, socket.close_reason) == (1000, "")


async def test_messages_may_come_as_binary_and_in_fragments() -> None:
    async with their_client() as socket:
        message = json.dumps(request(1, "echo", [UNICODE]), ensure_ascii=False)
        await socket.send(message.encode())
        assert json.loads(await socket.recv())["result"] == UNICODE
        await socket.send([message[:10], message[10:60], message[60:]])
        answer = await socket.recv()
        assert isinstance(answer, str)
        assert json.loads(answer)["result"] == UNICODE


@pytest.mark.req("F-03", "F-08")
async def test_batches_are_answered_and_notifications_are_not() -> None:
    async with their_client() as socket:
        await socket.send(json.dumps({"jsonrpc": "2.0", "method": "add", "params": [1, 2]}))
        await socket.send(json.dumps([{"jsonrpc": "2.0", "method": "nope"}]))
        batch = [request(1, "sleep", [0.05]), request(2, "add", [1, 2]), 7]
        slow, three, wrong = await exchange(socket, batch)
        assert slow == {"jsonrpc": "2.0", "id": 1, "result": None}
        assert three == {"jsonrpc": "2.0", "id": 2, "result": 3}
        assert (wrong["id"], wrong["error"]["code"]) == (None, -32600)


@pytest.mark.req("F-04")
async def test_what_is_not_json_is_answered_and_the_connection_goes_on() -> None:
    async with their_client() as socket:
        await socket.send("{nonsense")
        assert json.loads(await socket.recv())["error"]["code"] == -32700
        assert (await exchange(socket, request(1, "add", [1, 2])))["result"] == 3


async def test_we_call_their_client_back_while_it_waits() -> None:
    async with their_client() as socket:
        theirs = await exchange(socket, request(1, "call_back", ["double", [21]]))
        assert theirs == {"jsonrpc": "2.0", "id": 1, "method": "double", "params": [21]}
        answer = await exchange(socket, {"jsonrpc": "2.0", "id": theirs["id"], "result": 42})
        assert answer == {"jsonrpc": "2.0", "id": 1, "result": 42}


@pytest.mark.req("F-11")
async def test_their_client_keeps_many_calls_under_way() -> None:
    async with their_client() as socket:
        await socket.send(json.dumps(request("slow", "sleep", [0.1])))
        for number in range(100):
            await socket.send(json.dumps(request(number, "add", [number, 1])))
        answers = [json.loads(await socket.recv()) for _ in range(101)]
    assert {answer["id"]: answer["result"] for answer in answers} == {"slow": None} | {
        number: number + 1 for number in range(100)
    }
    assert answers[-1]["id"] == "slow"


async def test_a_megabyte_comes_back_to_their_client() -> None:
    text = "é" * 500_000
    async with their_client() as socket:
        await socket.send(json.dumps(request(1, "echo", [text]), ensure_ascii=False))
        assert json.loads(await socket.recv())["result"] == text


@pytest.mark.req("F-29")
async def test_what_is_too_large_is_refused_and_the_connection_goes_on() -> None:
    async with their_client() as socket:
        answer = await exchange(socket, request(1, "echo", ["x" * 2_000_000]))
        assert (answer["id"], answer["error"]["code"]) == (None, -32012)
        assert (await exchange(socket, request(2, "add", [1, 2])))["result"] == 3


async def test_we_answer_their_pings_and_they_compress_nothing_that_we_do_not_offer() -> None:
    async with their_client(compression="deflate", ping_interval=None) as socket:
        assert await (await socket.ping(b"still there?")) >= 0
        assert socket.protocol.extensions == []


async def test_a_page_of_another_site_is_not_let_in() -> None:
    with pytest.raises(InvalidStatus, match="403"):
        async with their_client(origin="https://elsewhere.example"):
            pass


async def test_another_path_is_not_found() -> None:
    async with serve(demo_router(), "ws://127.0.0.1:0/rpc") as server:
        with pytest.raises(InvalidStatus, match="404"):
            await ws_connect(server.url + "/other")


async def test_their_client_calls_us_over_tls(certificate: tuple[Path, Path]) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*certificate)
    trusting = ssl.create_default_context(cafile=certificate[0])
    async with (
        serve(demo_router(), "wss://127.0.0.1:0/rpc", tls=tls) as server,
        ws_connect(server.url, ssl=trusting) as socket,
    ):
        assert (await exchange(socket, request(1, "add", [1, 2])))["result"] == 3


class TheirServer:
    """A server written by hand on `websockets`, which speaks JSON-RPC as far as needed."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    async def __call__(self, socket: ServerConnection) -> None:
        async for data in socket:
            message = json.loads(data)
            if isinstance(message, list):
                answers = [self.answer(each) for each in message]
                await socket.send(json.dumps([answer for answer in answers if answer]))
            elif message.get("method") == "call_back":
                await self.call_back(socket, message)
            elif message.get("method") == "leave":
                await socket.close(1001, "gone for lunch")
            elif answer := self.answer(message):
                await socket.send(json.dumps(answer, ensure_ascii=False))

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message or "method" not in message:
            self.notes.append(message)
            return None
        envelope = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "echo":
            return envelope | {"result": message["params"][0]}
        return envelope | {"error": {"code": 7, "message": "no", "data": [message["method"]]}}

    async def call_back(self, socket: ServerConnection, message: dict[str, Any]) -> None:
        method, params = message["params"]
        await socket.send(json.dumps(request("theirs", method, params)))
        answer = json.loads(await socket.recv())
        await socket.send(json.dumps(answer | {"id": message["id"]}))


@asynccontextmanager
async def our_client(
    router: Router | None = None, **options: Any
) -> AsyncIterator[tuple[Peer, TheirServer]]:
    """Connected to their server."""
    theirs = TheirServer()
    async with ws_serve(theirs, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}/", router, timeout=10, **options) as peer:
            yield peer, theirs


async def test_we_call_their_server() -> None:
    async with our_client() as (peer, theirs):
        assert await peer.call("echo", [UNICODE]) == UNICODE
        with pytest.raises(RpcError) as caught:
            await peer.call("nope")
        assert (caught.value.code, caught.value.message, caught.value.data) == (7, "no", ["nope"])
        await peer.notify("note", {"text": UNICODE})
        async with peer.batch() as batch:
            one, two = batch.call("echo", [1]), batch.call("echo", [2])
        assert (await one, await two) == (1, 2)
        assert theirs.notes == [{"jsonrpc": "2.0", "method": "note", "params": {"text": UNICODE}}]
        many = await asyncio.gather(*(peer.call("echo", [number]) for number in range(100)))
        assert many == list(range(100))
        text = "é" * 500_000
        assert await peer.call("echo", [text]) == text


async def test_their_server_calls_us_back_while_we_wait() -> None:
    router = Router()

    @router.method
    async def describe(name: str, context: Context) -> dict[str, str]:
        return {"name": name, "over": context.channel.scheme}

    async with our_client(router) as (peer, _):
        assert await peer.call("call_back", ["describe", ["Ada"]]) == {"name": "Ada", "over": "ws"}


@pytest.mark.req("F-18")
async def test_when_their_server_leaves_our_calls_fail_at_once() -> None:
    async with our_client() as (peer, _):
        with pytest.raises(ConnectionLostError, match="closed by the other end"):
            await peer.call("leave")


@pytest.mark.req("F-29")
async def test_an_answer_of_theirs_that_is_too_large_fails_its_call_and_no_other() -> None:
    async with our_client(limits=Limits(max_message_bytes=1_000)) as (peer, _):
        with pytest.raises(MessageTooLargeError):
            await peer.call("echo", ["x" * 2_000])
        assert await peer.call("echo", [1]) == 1
        assert peer.statistics.messages_refused == 1


async def test_their_client_is_told_when_we_stop() -> None:
    server = await serve(demo_router(), "ws://127.0.0.1:0/rpc")
    async with ws_connect(server.url) as socket:
        await server.close()
        with pytest.raises(ConnectionClosedOK):
            await socket.recv()
