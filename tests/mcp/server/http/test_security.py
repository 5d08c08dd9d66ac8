"""What has gone wrong in servers of this protocol before, and must not here."""

from __future__ import annotations

import asyncio
import gc
import re
import tracemalloc
from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.mcp import Context, Server
from accord.mcp.server.auth.authenticator import Authenticator, Refusal
from accord.mcp.server.http.checks import McpHead
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.http.sessions import SessionLimits
from accord.mcp.server.session import Principal
from accord.transports.http.heads import Fields, WebRequest
from accord.transports.http.web_app import JSON
from tests.mcp.server.http.service import (
    ACCEPT,
    PATIENCE,
    Carrier,
    Gate,
    Site,
    initialize,
    make_server,
    modern_headers,
    notification,
    request,
    serving,
    with_meta,
)


class Tokens(Authenticator):
    """Tells who asks by a header; takes its time if it is told to."""

    def __init__(self, *, slow: bool = False) -> None:
        self._slow = slow

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | Awaitable[Principal | Refusal]:
        who = self._who(request.fields.get("authorization", ""))
        return self._later(who) if self._slow else who

    async def _later(self, who: Principal | Refusal) -> Principal | Refusal:
        await asyncio.sleep(0)
        return who

    def _who(self, token: str) -> Principal | Refusal:
        match token.removeprefix("Bearer ").split(":"):
            case [subject, *scopes] if subject:
                return Principal(subject=subject, scopes=frozenset(scopes))
        return Refusal(headers=b'www-authenticate: Bearer realm="shop"\r\n')

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        needed = " ".join(scopes).encode()
        return b'www-authenticate: Bearer error="insufficient_scope", scope="%b"\r\n' % needed


@pytest.mark.req("M-17")
@pytest.mark.parametrize("slow", [False, True])
async def test_nobody_uses_the_session_of_another(carrier: Carrier, slow: bool) -> None:
    async with serving(carrier=carrier, auth=Tokens(slow=slow)) as site:
        ada = await site.session(authorization="Bearer ada")
        stolen = {**ada.headers, "authorization": "Bearer eve"}
        for body in (
            request("ping"),
            notification("notifications/initialized"),
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            [request("ping")],
        ):
            assert (await site.post(body, **stolen)).status == 404
        stolen["accept"] = "text/event-stream"
        assert (await site.send("GET", **stolen)).status == 404
        assert (await site.send("GET", **stolen, last_event_id="0-0")).status == 404
        assert (await site.send("DELETE", **stolen)).status == 404
        assert (await ada.request("ping")).status == 200
        renewed = {**ada.headers, "authorization": "Bearer ada:more"}
        assert (await site.post(request("ping"), **renewed)).status == 200


@pytest.mark.parametrize("slow", [False, True])
async def test_who_is_not_known_is_told_how_to_become_it(carrier: Carrier, slow: bool) -> None:
    async with serving(carrier=carrier, auth=Tokens(slow=slow)) as site:
        headers = {"accept": "application/json, text/event-stream"}
        for method in ("POST", "GET", "DELETE"):
            typed = {**headers, "content-type": "application/json"}
            answer = await site.send(method, initialize() if method == "POST" else None, **typed)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == 'Bearer realm="shop"'


async def test_a_permission_that_is_missing_is_named() -> None:
    server = make_server()

    @server.tool(scopes=("orders:write",))
    async def order(context: Context) -> str:
        assert context.principal is not None
        return context.principal.subject

    async with serving(server, auth=Tokens()) as site:
        params = with_meta({"name": "order"})
        headers = modern_headers("tools/call", params)
        body = request("tools/call", params)
        shown = await site.post(body, authorization="Bearer ada", **headers)
        assert shown.error == (403, -32600, 1)
        assert 'scope="orders:write"' in shown.headers["www-authenticate"]
        ada = await site.session(authorization="Bearer ada")
        shown = await ada.call("order")
        assert shown.error == (403, -32055, 1)
        assert 'scope="orders:write"' in shown.headers["www-authenticate"]
    async with serving(server, auth=Tokens(), plain_refusals=True) as site:
        shown = await site.post(body, authorization="Bearer ada", **headers)
        assert shown.error == (200, -32600, 1)


async def test_an_authenticator_that_fails_lets_nobody_in() -> None:
    class Broken(Tokens):
        async def _later(self, who: Any) -> Any:
            raise RuntimeError("no database")

    async with serving(auth=Broken(slow=True)) as site:
        answer = await site.post(initialize(), authorization="Bearer ada")
        assert answer.error == (500, -32603, None)
        assert b"database" not in answer.body


async def test_sessions_are_limited_for_each_principal() -> None:
    limits = SessionLimits(max_per_principal=2)
    async with serving(auth=Tokens(), session_limits=limits) as site:
        bob = await site.session(authorization="Bearer bob")
        ada = [await site.session(authorization="Bearer ada") for _ in range(3)]
        shown = [(await each.request("ping")).status for each in (bob, *ada)]
        assert shown == [200, 404, 200, 200]


@pytest.mark.req("M-17")
async def test_200_clients_with_the_same_ids_see_their_own_answers(carrier: Carrier) -> None:
    server = Server("echo")

    @server.tool
    async def echo(context: Context, text: str) -> str:
        context.progress(1, message=text)
        await asyncio.sleep(0.001)
        return text

    arguments = {"name": "echo", "_meta": {"progressToken": 1}}
    async with serving(server, carrier) as site:

        async def client(number: int) -> list[str]:
            text = f"client {number}"
            params: Any = {**arguments, "arguments": {"text": text}}
            if number % 2:
                shaken = await site.session()
                headers = shaken.headers
            else:
                params = with_meta(params)
                headers = modern_headers("tools/call", params)
            everyone.add(text)
            if len(everyone) == 200:
                ready.set()
            await ready.wait()
            answers = [await raw_post(site, request("tools/call", params), headers)]
            answers += [await raw_post(site, request("tools/call", params), headers)]
            return [shown(message) for answer in answers for message in answer]

        everyone: set[str] = set()
        ready = asyncio.Event()
        told = await asyncio.gather(*map(client, range(200)))
        assert told == [[f"client {number}"] * 4 for number in range(200)]


async def raw_post(site: Site, message: Any, headers: dict[str, str]) -> list[Any]:
    """The messages of the stream that answers a POST."""
    body = msgspec.json.encode(message)
    lines = [f"{name}: {value}" for name, value in {**ACCEPT, **headers}.items()]
    head = "\r\n".join(
        ["POST /mcp HTTP/1.1", "host: localhost", "connection: close", *lines,
         "content-type: application/json", f"content-length: {len(body)}", "", ""]
    )  # fmt: skip
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(head.encode() + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    writer.close()
    return [msgspec.json.decode(data) for data in re.findall(rb"data: (\{.*\})", answer)]


def shown(message: Any) -> str:
    if "method" in message:
        return str(message["params"]["message"])
    assert message["id"] == 1
    return str(message["result"]["content"][0]["text"])


@pytest.mark.req("M-17")
async def test_100_000_abandoned_sessions_leave_memory_flat() -> None:
    endpoint = McpEndpoint(make_server())
    await endpoint.start()
    head = endpoint.judge(_head())
    assert isinstance(head, McpHead)
    body = b"""{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":
        "2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"a","version":"1"}}}"""

    def abandon(count: int) -> None:
        for _ in range(count):
            endpoint.handle(head, body, Unread())

    abandon(20_000)  # beyond the ceiling of 10,000
    assert len(endpoint.sessions) == 10_000
    gc.collect()
    objects = len(gc.get_objects())
    abandon(79_000)
    gc.collect()
    assert len(gc.get_objects()) - objects < 1_000
    tracemalloc.start()
    abandon(1_000)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(endpoint.sessions) == 10_000
    assert size / 1_000 < 2_000  # bytes that each session takes
    await endpoint.close(0)


class Unread:
    """A client that does not care for its answer."""

    channel: Any = None
    on_gone: Any = None

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        assert status == 200

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> Any:
        raise AssertionError("nothing was said")


def _head() -> WebRequest:
    pairs = [
        (b"host", b"localhost"),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
    ]
    return WebRequest("POST", "/mcp", "", "", Fields(pairs), 1, True)


async def test_a_client_that_leaves_at_any_moment_leaves_nothing_behind(carrier: Carrier) -> None:
    """Every prefix of what a client says and hears, then the connection is cut."""
    server = Server("steps")
    ended = 0

    @server.tool
    async def steps(context: Context) -> str:
        nonlocal ended
        try:
            for step in range(4):
                context.progress(step + 1, 4)
                await asyncio.sleep(0.002)
        finally:
            ended += 1
        return "done"

    async with serving(server, carrier, pulse_seconds=0.001) as site:
        shaken = await site.session()
        params = {"name": "steps", "_meta": {"progressToken": 1}}
        for number in range(40):
            modern = number % 2
            given = with_meta(params) if modern else params
            headers = modern_headers("tools/call", given) if modern else shaken.headers
            task = asyncio.create_task(
                site.post(request("tools/call", given, id=number), **headers)
            )
            await asyncio.sleep(number * 0.0005)
            task.cancel()
            await asyncio.wait([task])
        await site.until(lambda: site.endpoint.in_flight == 0)
        await site.until(lambda: site.endpoint.pulse.streams == 0)
        assert (await shaken.request("ping", id="p")).status == 200
        assert (await shaken.end()).status == 204


async def test_what_a_handler_raises_is_not_told(carrier: Carrier) -> None:
    server = Server("secrets")

    @server.prompt
    def broken() -> str:
        raise RuntimeError("the password is hunter2")

    @server.tool
    def also_broken() -> str:
        raise RuntimeError("the password is hunter2")

    async with serving(server, carrier) as site:
        for answer in (
            await site.modern("prompts/get", name="broken"),
            await site.call_modern("also_broken"),
        ):
            assert b"hunter2" not in answer.body
            assert answer.status == 200


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    gate = Gate()
    server = Server("flood")

    @server.tool
    async def flood(context: Context) -> str:
        context.info("begun")
        await gate.pass_through()
        try:
            while True:
                context.info("x" * 100_000)
                await asyncio.sleep(0)
        finally:
            gate.cancelled.set()

    limits = Limits(max_queued_bytes=1_000_000, max_message_bytes=10_000)
    async with serving(server, limits=limits) as site:
        params = with_meta({"name": "flood"}, **{"io.modelcontextprotocol/logLevel": "info"})
        headers = modern_headers("tools/call", params)
        async with site.open("POST", request("tools/call", params), **headers) as stream:
            gate.opened.set()
            await asyncio.wait_for(gate.cancelled.wait(), PATIENCE)
            assert stream.status == 200
