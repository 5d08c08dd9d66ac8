"""Our client and HTTP servers that mean harm: calls end with an error in time, memory stays
bounded, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import CallTimeoutError, ConnectionLostError, RpcError, TransportError
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.errors import InvalidResultError
from accord.mcp import Client
from accord.mcp.client.auth_hook import AuthRequest
from tests.hostile.attacker import until
from tests.mcp.client.scripted import complete, text
from tests.mcp.client.web import INITIALIZED, Handle, Request, Stream, Web, sessions, stateless, web
from tests.mcp.hostile.bounds import LONGEST, bounded

KIB = 1024
SOON = 0.3
"""Seconds that calls have whose server never answers them."""

Say = Callable[[Stream, Request], Awaitable[None]]


def answer(request: Request, value: str = "done", **members: Any) -> dict[str, Any]:
    result = complete(**text(value))
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": result, **members}


def streaming(say: Say) -> Handle:
    """A tool whose answer is a stream on which `say` speaks."""

    async def call(request: Request) -> None:
        await say(await request.stream(), request)

    return call


@asynccontextmanager
async def between(
    handle: Handle, *, seconds: float = LONGEST, **options: Any
) -> AsyncIterator[tuple[Web, Client]]:
    """A server that does its worst, and a client of it."""
    async with (
        bounded(seconds=seconds),
        web(handle) as server,
        Client(server.url, **options) as client,
    ):
        yield server, client


def both_eras(methods: Mapping[str, Handle]) -> dict[str, Handle]:
    return {"modern": stateless(methods), "legacy": sessions(methods)}


# Streams


async def endless_comments(stream: Stream, request: Request) -> None:
    while True:
        await stream.raw(b": still here\n\n" * 1_000)
        await asyncio.sleep(0)


async def endless_messages(stream: Stream, request: Request) -> None:
    params = {"level": "info", "data": "x" * 1_000}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    events = b"data: " + json.dumps(message).encode() + b"\n\n"
    while True:
        await stream.raw(events * 20)
        await asyncio.sleep(0)


async def endless_progress_of_others(stream: Stream, request: Request) -> None:
    for number in range(10**9):
        params = {"progressToken": 1_000_000 + number, "progress": number}
        await stream.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await asyncio.sleep(0)


async def answers_to_nobody(stream: Stream, request: Request) -> None:
    for number in range(10**9):
        await stream.send({"jsonrpc": "2.0", "id": 10_000 + number, "result": {}})
        await asyncio.sleep(0)


async def garbage(stream: Stream, request: Request) -> None:
    while True:
        await stream.raw(
            b"data: {\xff\xfe]]\n\nid: \0\ndata: 7\n\nevent: other\ndata: {}\n\n" * 100
        )


async def drops(stream: Stream, request: Request) -> None:
    for byte in b"data: " + json.dumps(answer(request)).encode() * 1_000:
        await stream.raw(bytes([byte]))
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("mode", ["modern", "legacy"])
@pytest.mark.parametrize(
    "say",
    [
        endless_comments,
        endless_messages,
        endless_progress_of_others,
        answers_to_nobody,
        garbage,
        drops,
    ],
)
async def test_a_stream_without_the_answer_ends_when_the_time_is_up(say: Say, mode: Any) -> None:
    async with between(
        both_eras({"tools/call": streaming(say)})[mode], mode=mode, logging=lambda message: None
    ) as (_, client):
        with pytest.raises(CallTimeoutError):
            await client.call_tool("x", timeout=SOON)


@pytest.mark.parametrize(
    "piece", [b"x" * 4_096, b"data: " + b"x" * 4_000 + b"\n"], ids=["one line", "many lines"]
)
async def test_an_event_without_an_end_is_given_up_at_the_limit(piece: bytes) -> None:
    sent = 0

    async def endless(stream: Stream, request: Request) -> None:
        nonlocal sent
        while True:
            await stream.raw(piece)
            sent += len(piece)

    limits = Limits(max_message_bytes=256 * KIB)
    async with between(stateless({"tools/call": streaming(endless)}), limits=limits) as (
        _,
        client,
    ):
        with pytest.raises(RpcError, match="262,144 bytes"):
            await client.call_tool("x")
    assert sent < 8_000 * KIB


async def test_an_answer_on_the_stream_of_another_request_is_the_answer_and_counts_once() -> None:
    begun: list[tuple[Stream, Request]] = []

    async def call(stream: Stream, request: Request) -> None:
        begun.append((stream, request))

    async with between(stateless({"tools/call": streaming(call)})) as (_, client):
        first = asyncio.create_task(client.call_tool("first"))
        await until(lambda: len(begun) == 1)
        second = asyncio.create_task(client.call_tool("second"))
        await until(lambda: len(begun) == 2)
        (stream, asked), (_, other) = begun
        await stream.send(answer(other, "for the second"))
        assert (await second).text == "for the second"
        await stream.send(answer(other, "again"))
        await stream.send(answer(asked, "for the first"))
        assert (await first).text == "for the first"


async def test_a_server_that_wants_to_be_asked_again_at_once_is_given_time() -> None:
    async def listen(request: Request) -> None:
        stream = await request.stream()
        await stream.raw(b"retry: 0\nid: 1\ndata: \n\n")
        await stream.end()

    async with between(sessions({"GET": listen}), mode="legacy") as (server, _):
        await server.until(lambda: server.rpcs().count("GET") >= 2)
        await asyncio.sleep(0.5)
    assert server.rpcs().count("GET") < 20


async def test_a_server_that_asks_without_end_is_answered_as_fast_as_it_takes_answers() -> None:
    """Its requests wait where they are while it does not take the answers to earlier ones."""
    asked = 0

    async def flood(request: Request) -> None:
        nonlocal asked
        stream = await request.stream()
        for number in range(10**9):
            params = {"padding": "x" * 4_000}  # so that what is on its way is soon full
            ping = {"jsonrpc": "2.0", "id": number, "method": "ping", "params": params}
            await stream.send(ping)
            asked = number

    async def handle(request: Request) -> None:
        if "method" not in request.message and request.method == "POST":
            await asyncio.sleep(3600)  # an answer of the client
        await listening(request)

    listening = sessions({"GET": flood})
    async with between(handle, mode="legacy") as (_, _):
        await until(lambda: asked > 200)
        before = -1
        while asked != before:  # until nothing more is taken
            before = asked
            await asyncio.sleep(0.2)
    assert asked < 10_000


# Answers that are not streams


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 10_000 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 100,
    ],
)
async def test_what_is_no_http_is_a_transport_error(sent: bytes) -> None:
    async def call(request: Request) -> None:
        await request.raw(sent)

    async with between(stateless({"tools/call": call})) as (_, client):
        with pytest.raises(TransportError):
            await client.call_tool("x")


async def test_an_answer_that_comes_in_drops_ends_when_the_time_is_up() -> None:
    async def call(request: Request) -> None:
        for byte in b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + b"x: y\r\n" * 9:
            await request.raw(bytes([byte]), end=False)
            await asyncio.sleep(0.02)

    async with between(stateless({"tools/call": call})) as (_, client):
        with pytest.raises(CallTimeoutError):
            await client.call_tool("x", timeout=SOON)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_what_is_compressed_is_not_unpacked(kind: str) -> None:
    bomb = gzip.compress(b" " * 100_000 * KIB)

    async def call(request: Request) -> None:
        await request.reply(200, bomb, {"content-type": kind, "content-encoding": "gzip"})

    async with between(stateless({"tools/call": call})) as (_, client):
        with pytest.raises(TransportError, match="compressed"):
            await client.call_tool("x")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_nothing_is_sent_where_a_redirect_points(status: int, mode: Any) -> None:
    async def elsewhere(request: Request) -> None:
        raise AssertionError("a request was sent there")

    async with bounded(), web(elsewhere) as other:

        async def redirect(request: Request) -> None:
            await request.reply(status, headers={"location": other.url})

        methods = {"tools/call": redirect, "GET": redirect, "DELETE": redirect}
        async with (
            web(both_eras(methods)[mode]) as server,
            Client(server.url, mode=mode, auth="secret") as client,
        ):
            with pytest.raises(TransportError):
                await client.call_tool("x")
    assert other.requests == []


async def test_challenges_without_end_are_given_up() -> None:
    class Willing:
        """Has another token for every challenge."""

        challenges = 0

        async def headers(self, request: AuthRequest) -> Mapping[str, str]:
            return {"authorization": f"Bearer {self.challenges}"}

        async def challenged(self, *asked: Any) -> bool:
            self.challenges += 1
            return True

    auth = Willing()
    status = 401

    async def refuse(request: Request) -> None:
        nonlocal status
        status = 403 if status == 401 else 401
        await request.reply(status, headers={"www-authenticate": 'Bearer error="invalid_token"'})

    async with between(stateless({"tools/call": refuse}), auth=auth) as (server, client):
        with pytest.raises(TransportError):
            await client.call_tool("x")
    assert server.rpcs().count("tools/call") == auth.challenges + 1 == 6


@pytest.mark.parametrize(
    "message",
    [
        [],
        [[]],
        7,
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 1, "result": 5},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": 7}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text"}]}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "resultType": 5}},
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": 5}},
        {"jsonrpc": "2.0", "id": 1, "error": None},
        {"jsonrpc": "2.0", "id": "1", "result": {"content": []}},
        {"jsonrpc": "2.0", "id": 99, "result": {"content": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    ],
)
async def test_an_answer_that_is_none_is_an_error_at_once(message: Any) -> None:
    async def call(request: Request) -> None:
        if isinstance(message, dict) and message.get("id") == 1:
            message["id"] = request.message["id"]
        await request.json(200, message)

    async with between(stateless({"tools/call": call})) as (_, client):
        with pytest.raises((RpcError, InvalidResultError)) as error:
            await client.call_tool("x", timeout=10)
        assert not isinstance(error.value, CallTimeoutError)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"n":' + b"9" * 100_000 + b"}]}}",
        b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}',
        b"<html>" * 1_000,
    ],
    ids=["brackets", "depth", "digits", "not UTF-8", "a page"],
)
async def test_json_that_is_hostile_is_an_error_at_once(body: bytes) -> None:
    async def call(request: Request) -> None:
        id = str(request.message["id"]).encode()
        filled = body.replace(b'"id":1', b'"id":' + id)
        await request.reply(200, filled, {"content-type": "application/json"})

    async with between(stateless({"tools/call": call})) as (_, client):
        with pytest.raises((RpcError, InvalidResultError)) as error:
            await client.call_tool("x", timeout=10)
        assert not isinstance(error.value, CallTimeoutError)
        assert len(str(error.value)) < 1_000


@pytest.mark.req("Q-04")
@pytest.mark.parametrize("levels", [129, 2_000, 20_000])
async def test_an_answer_that_is_nested_too_deep_is_none(levels: int) -> None:
    async def call(request: Request) -> None:
        body = b'{"jsonrpc":"2.0","id":%d,"result":%b%b}'
        id, lists = request.message["id"], (b"[" * levels, b"]" * levels)
        await request.reply(200, body % (id, *lists), {"content-type": "application/json"})

    async with between(stateless({"tools/call": call})) as (_, client):
        with pytest.raises(TransportError) as error:
            await client.call_tool("x", timeout=10)
    assert error.value.message == "the server's reply is not the answer to the request"


# Sessions


@pytest.mark.parametrize(
    "id",
    ["x" * 8_000, "with spaces, and commas", "-"],
    ids=["long", "spaces", "dash"],
)
async def test_whatever_a_session_is_called_the_client_says_it_or_an_error(id: str) -> None:
    async def initialize(request: Request) -> None:
        await request.result(INITIALIZED, mcp_session_id=id)

    async def call(request: Request) -> None:
        await request.result(text(request.headers["mcp-session-id"]))

    methods = {"initialize": initialize, "tools/call": call}
    async with between(sessions(methods), mode="legacy") as (_, client):
        assert (await client.call_tool("x")).text == id


async def test_a_session_that_is_gone_again_and_again_is_given_up() -> None:
    async def call(request: Request) -> None:
        await request.reply(404)

    async with between(sessions({"tools/call": call}), mode="legacy") as (server, client):
        with pytest.raises(TransportError):
            await client.call_tool("x")
    assert server.rpcs().count("initialize") == 2


async def test_a_session_that_cannot_be_ended_does_not_keep_the_client() -> None:
    async def forever(request: Request) -> None:
        await asyncio.sleep(3600)

    async with between(sessions({"DELETE": forever}), mode="legacy") as (server, _):
        pass
    assert server.rpcs()[-1] == "DELETE"


# Lists, rounds, tasks


@pytest.mark.parametrize("cursors", ["new", "same"])
async def test_a_list_without_an_end_is_given_up(cursors: str) -> None:
    pages = 0

    async def tools(request: Request) -> None:
        nonlocal pages
        pages += 1
        cursor = str(pages) if cursors == "new" else "again"
        await request.result(complete(tools=[], nextCursor=cursor, ttlMs=0, cacheScope="public"))

    async with between(stateless({"tools/list": tools}), seconds=40) as (_, client):
        with pytest.raises(InvalidResultError):
            await client.list_tools()
    assert pages <= 1_000


async def test_questions_without_an_end_are_given_up() -> None:
    rounds = 0

    async def call(request: Request) -> None:
        nonlocal rounds
        rounds += 1
        form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        asked = {"method": "elicitation/create", "params": form}
        await request.result(
            {"resultType": "input_required", "inputRequests": {"q": asked}, "requestState": "s"}
        )

    async with between(stateless({"tools/call": call}), elicitation=lambda form: {}) as (
        _,
        client,
    ):
        with pytest.raises(RpcError, match="16 rounds"):
            await client.call_tool("x")
    assert rounds <= 17


async def test_a_connection_that_is_cut_in_every_place_is_lost_and_nothing_else() -> None:
    whole = b""

    async def cut(stream: Stream, request: Request) -> None:
        nonlocal whole
        whole = b"data: " + json.dumps(answer(request)).encode() + b"\n\n"
        await stream.raw(whole[: len(server.requests) - 2])
        stream.cut()

    async with between(stateless({"tools/call": streaming(cut)}), seconds=60) as (server, client):
        while len(server.requests) < 3 or len(server.requests) - 1 < len(whole):
            with pytest.raises(ConnectionLostError):
                await client.call_tool("x")
