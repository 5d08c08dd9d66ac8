"""Request ids, by one rule on every transport and in both eras: a string or an integer, never
null, unique among the requests in flight on a connection."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from accord.jsonrpc.protocol.channel import Channel
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.inbox import Inbox, InputHandlers
from accord.mcp.protocol.input_requests import Root
from accord.transports.connect import open_channel
from accord.transports.memory import memory_pair
from accord.transports.options import Options
from tests.mcp import request_ids_program
from tests.mcp.request_ids_program import make_server
from tests.mcp.server.http.service import (
    PATIENCE,
    Listening,
    Site,
    initialize,
    modern_headers,
    notification,
    request,
    serving,
    with_meta,
)
from tests.transports.recorder import Recorder

DUPLEX = ("memory", "tcp", "unix", "ws", "stdio", "sse")
"""Transports whose answers come over the connection, in any order."""
TRANSPORTS = (*DUPLEX, "http")
BAD_IDS = [None, 1.5, 1.0, 1e3, True, [1], {"a": 1}]

Codes = Literal["standard", "extended"]


def encoded(message: Any) -> bytes:
    """A message as JSON. A name that begins with `again:` is written without that, a second time."""
    return msgspec.json.encode(message).replace(b'"again:', b'"')


class Wire:
    """A client that sends what a test tells it to, and keeps what comes back."""

    def __init__(self, send: Callable[[Any], object], *, stateless: bool) -> None:
        self._send = send
        self._stateless = stateless
        self._came: list[Any] = []
        self._news = asyncio.Event()

    def came(self, data: bytes) -> None:
        message = msgspec.json.decode(data)
        if isinstance(message, list) or "method" not in message:
            self._came.append(message)
            self._news.set()

    def send(self, message: Any) -> None:
        self._send(message)

    def request(self, method: str, id: Any, **params: Any) -> dict[str, Any]:
        return request(method, with_meta(params) if self._stateless else params, id=id)

    def call(self, tool: str, id: Any) -> dict[str, Any]:
        return self.request("tools/call", id, name=tool, arguments={})

    async def answer(self) -> Any:
        """The next message that answers something."""
        async with asyncio.timeout(PATIENCE):
            while not self._came:
                self._news.clear()
                await self._news.wait()
        return self._came.pop(0)

    async def ask(self, message: Any) -> Any:
        self.send(message)
        return await self.answer()

    async def refused(self, message: Any) -> Any:
        """Ask until an error comes: over HTTP requests may overtake each other."""
        async with asyncio.timeout(PATIENCE):
            while "error" not in (answer := await self.ask(message)):
                pass
        return answer


@asynccontextmanager
async def wired(
    transport: str, folder: Path, *, stateless: bool = False, codes: Codes = "standard"
) -> AsyncIterator[Wire]:
    """A client of a server, over one transport; its handshake is complete."""
    async with AsyncExitStack() as stack:
        if transport == "http":
            site = await stack.enter_async_context(serving(make_server(codes)))
            wire = await _over_http(site, stack, stateless=stateless)
        elif transport == "sse":
            site = await stack.enter_async_context(serving(make_server(codes), old_sse=True))
            wire = await _over_sse(site, stack)
        else:
            wire = await _over_channel(transport, folder, stack, stateless=stateless, codes=codes)
        if transport != "http" and not stateless:
            assert "result" in await wire.ask(initialize())
            wire.send(notification("notifications/initialized"))
        yield wire


async def _over_channel(
    transport: str, folder: Path, stack: AsyncExitStack, *, stateless: bool, codes: Codes
) -> Wire:
    if transport == "stdio":
        program = str(request_ids_program.__file__)
        target: Any = [
            sys.executable,
            "-c",
            f"import runpy; runpy.run_path({program!r}, None, '__main__')",
        ]
        assert codes == "standard"
    else:
        url = {
            "memory": "memory://ids",
            "tcp": "tcp://127.0.0.1:0",
            "unix": f"unix:{folder}/ids",
            "ws": "ws://127.0.0.1:0/mcp",
        }[transport]
        target = (await stack.enter_async_context(make_server(codes).serve(url))).url
    channel: Channel = await open_channel(target, Options())
    wire = Wire(lambda message: channel.send(encoded(message)), stateless=stateless)
    recorder = Recorder(wire.came)
    channel.start(recorder)

    async def close() -> None:
        channel.close()
        await recorder.ended()

    stack.push_async_callback(close)
    return wire


async def _over_http(site: Site, stack: AsyncExitStack, *, stateless: bool) -> Wire:
    posts = await stack.enter_async_context(asyncio.TaskGroup())
    session = None if stateless else await site.session("2025-03-26")

    async def post(message: Any) -> None:
        if session is not None:
            reply = await session.post(encoded(message))
        else:
            headers = modern_headers(message["method"], message.get("params", {}))
            reply = await site.post(encoded(message), **headers)
        if reply.headers.get("content-type") == "text/event-stream":
            for each in reply.messages:
                wire.came(msgspec.json.encode(each))
        elif reply.body:
            wire.came(reply.body)

    wire = Wire(lambda message: posts.create_task(post(message)), stateless=stateless)
    return wire


async def _over_sse(site: Site, stack: AsyncExitStack) -> Wire:
    posts = await stack.enter_async_context(asyncio.TaskGroup())
    stream: Listening = await stack.enter_async_context(site.open("GET", url=f"{site.url}/sse"))
    url = site.url.removesuffix("/mcp") + (await stream.event()).data.decode()
    order = asyncio.Lock()

    async def post(message: Any) -> None:
        async with order:
            await site.send("POST", encoded(message), url=url, content_type="application/json")

    wire = Wire(lambda message: posts.create_task(post(message)), stateless=False)

    async def listen() -> None:
        while True:
            event = await stream.event()
            if event.data:
                wire.came(event.data)

    listening = asyncio.create_task(listen())
    stack.callback(listening.cancel)
    return wire


def refusal(code: int, reason: str, id: Any = None) -> dict[str, Any]:
    why = {
        "request_id_invalid": "'id' must be a string or an integer",
        "request_id_conflict": "a request with this 'id' is being served",
    }[reason]
    data = {"reason": reason, "field": "id"}
    error = {"code": code, "message": f"Invalid Request: {why}", "data": data}
    return {"jsonrpc": "2.0", "id": id, "error": error}


INVALID = refusal(-32600, "request_id_invalid")


@pytest.mark.req("M-12")
@pytest.mark.parametrize(
    ("transport", "stateless"),
    [
        *((transport, False) for transport in TRANSPORTS),
        *((transport, True) for transport in TRANSPORTS if transport != "sse"),
    ],
)
async def test_an_id_that_is_no_string_or_integer_is_refused_and_nothing_runs(
    transport: str, stateless: bool, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path, stateless=stateless) as wire:
        for id in BAD_IDS:
            for method in ("tools/call", "ping", "server/discover", "no/such", "notifications/x"):
                message = wire.request(method, id, name="hold", arguments={})
                assert await wire.ask(message) == INVALID, (id, method)
        answer = await wire.ask(wire.call("release", "last"))
        assert answer["result"]["content"][0]["text"] == "0"


@pytest.mark.req("M-12")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_strings_and_integers_of_any_size_are_mirrored(
    transport: str, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path) as wire:
        for id in (0, -1, 2**53, 2**63, -(2**63), 2**70, "", "1", "é\0", "x" * 5_000):
            assert await wire.ask(wire.request("ping", id)) == {
                "jsonrpc": "2.0",
                "id": id,
                "result": {},
            }


@pytest.mark.req("M-12")
@pytest.mark.parametrize(
    ("transport", "stateless"),
    [
        *((transport, False) for transport in TRANSPORTS),
        *((transport, True) for transport in DUPLEX if transport != "sse"),
    ],
)
async def test_an_id_in_flight_is_refused_until_its_request_is_answered(
    transport: str, stateless: bool, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path, stateless=stateless) as wire:
        wire.send(wire.call("hold", 7))
        assert await wire.refused(wire.request("tools/list", 7)) == refusal(
            -32600, "request_id_conflict", 7
        )
        assert "result" in await wire.ask(wire.request("tools/list", "7"))
        wire.send(wire.call("release", 8))
        answers = {
            each["id"]: each["result"] for each in [await wire.answer(), await wire.answer()]
        }
        assert {id: each["content"][0]["text"] for id, each in answers.items()} == {
            7: "held",
            8: "1",
        }
        assert "result" in await wire.ask(wire.request("tools/list", 7))


@pytest.mark.req("M-12")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_cancelled_request_frees_its_id(transport: str, tmp_path: Path) -> None:
    async with wired(transport, tmp_path) as wire:
        wire.send(wire.call("hold", 7))
        await wire.refused(wire.request("tools/list", 7))
        wire.send(notification("notifications/cancelled", {"requestId": 7}))
        async with asyncio.timeout(PATIENCE):  # the notification may arrive after the request
            while "error" in await wire.ask(wire.request("ping", 7)):
                pass


@pytest.mark.req("M-12", "M-13")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_each_id_of_a_batch_is_checked(transport: str, tmp_path: Path) -> None:
    async with wired(transport, tmp_path) as wire:
        ids = [1, None, 1, "1", 2.5, True, 2]
        answers = await wire.ask([wire.request("ping", id) for id in ids])
    assert answers == [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        INVALID,
        refusal(-32600, "request_id_conflict", 1),
        {"jsonrpc": "2.0", "id": "1", "result": {}},
        INVALID,
        INVALID,
        {"jsonrpc": "2.0", "id": 2, "result": {}},
    ]


@pytest.mark.req("M-12", "M-13")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_ids_of_a_batch_are_in_flight_and_can_be_cancelled(
    transport: str, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path) as wire:
        wire.send([wire.call("hold", 7), wire.request("ping", 8)])
        assert await wire.refused(wire.request("ping", 7)) == refusal(
            -32600, "request_id_conflict", 7
        )
        wire.send(notification("notifications/cancelled", {"requestId": 7}))
        assert await wire.answer() == [{"jsonrpc": "2.0", "id": 8, "result": {}}]


@pytest.mark.parametrize("transport", ["memory", "tcp"])
async def test_a_batch_may_cancel_a_request_of_its_own(transport: str, tmp_path: Path) -> None:
    async with wired(transport, tmp_path) as wire:
        cancelled = notification("notifications/cancelled", {"requestId": 7})
        batch = [wire.request("ping", 1), wire.call("hold", 7), cancelled, wire.request("ping", 2)]
        assert [each["id"] for each in await wire.ask(batch)] == [1, 2]
        assert (await wire.ask(wire.request("ping", 3)))["id"] == 3


@pytest.mark.req("M-11", "M-12")
@pytest.mark.parametrize("transport", ["memory", "tcp", "http"])
async def test_the_extended_profile_has_codes_for_ids_in_the_handshake_era_only(
    transport: str, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path, codes="extended") as wire:
        for id in BAD_IDS:
            answer = await wire.ask(wire.request("ping", id))
            assert answer == refusal(-32067, "request_id_invalid")
        wire.send(wire.call("hold", 7))
        assert await wire.refused(wire.request("ping", 7)) == refusal(
            -32068, "request_id_conflict", 7
        )
        wire.send(notification("notifications/cancelled", {"requestId": 7}))
        batch = await wire.ask([wire.request("ping", None), wire.request("ping", 1)])
        assert batch[0] == refusal(-32067, "request_id_invalid")
    async with wired(transport, tmp_path, stateless=True, codes="extended") as wire:
        assert await wire.ask(wire.request("tools/list", None)) == INVALID


@pytest.mark.req("M-12", "M-15")
async def test_a_client_refuses_the_same_ids_when_its_server_asks() -> None:
    entered, opened = asyncio.Event(), asyncio.Event()

    async def roots() -> list[Root]:
        entered.set()
        await opened.wait()
        return []

    here, there = memory_pair()
    server = Recorder()
    there.start(server)
    peer = Peer(here, Inbox(InputHandlers(roots=roots)).router())

    async def ask(method: str, id: Any) -> Any:
        there.send(msgspec.json.encode(request(method, id=id)))
        return msgspec.json.decode(await server.next_message())

    for id in BAD_IDS:
        assert await ask("ping", id) == INVALID
    there.send(msgspec.json.encode(request("roots/list", id=7)))
    await entered.wait()
    assert await ask("ping", 7) == refusal(-32600, "request_id_conflict", 7)
    opened.set()
    answer = msgspec.json.decode(await server.next_message())
    assert answer == {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}}
    assert "result" in await ask("ping", 7)
    await peer.close()
