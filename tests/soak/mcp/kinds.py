"""What clients do in a soak: each kind is a session of its own, from its beginning to whatever
end it takes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from accord import CallTimeoutError, InvalidParamsError, RpcError
from accord.mcp import Client, Server
from tests.soak.mcp.service import NOTE, REFUSED

Mode: TypeAlias = Literal["modern", "legacy"]

NAP: Final = 0.5
"""Seconds that a tool sleeps whose caller does not wait for it."""
SOON: Final = 0.02
PATIENCE: Final = 30.0

_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/logLevel": "info",
    "progressToken": 1,
}
_HEADERS: Final = (
    "host: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n"
    "content-type: application/json\r\n"
)


class Site(Struct, frozen=True):
    """A server that is being served."""

    url: str
    server: Server


class Visit(Struct, frozen=True):
    """One client that is about to come."""

    site: Site
    mode: Mode
    chance: random.Random

    def client(self, **options: Any) -> Client:
        return Client(self.site.url, mode=self.mode, timeout=PATIENCE, **options)


Kind: TypeAlias = Callable[[Visit], Awaitable[None]]


# Clients that behave


async def called(visit: Visit) -> None:
    async with visit.client() as client:
        for _ in range(5):
            a = visit.chance.randrange(1_000_000)
            tool = visit.chance.choice(("add", "add_in_thread"))
            result = await client.call_tool(tool, {"a": a, "b": 1}, into=int)
            assert result.structured == a + 1
        text = "x" * visit.chance.randrange(5_000)
        assert (await client.call_tool("echo", {"text": text})).text == text
        assert (await client.read_resource(NOTE)).contents[0].text == "a note"
        assert len(await client.list_tools()) == 13


async def called_together(visit: Visit) -> None:
    async with visit.client() as client:
        calls = (client.call_tool("add", {"a": a, "b": 1}, into=int) for a in range(20))
        assert [each.structured for each in await asyncio.gather(*calls)] == list(range(1, 21))


async def reported(visit: Visit) -> None:
    told: list[float] = []
    async with visit.client(logging=lambda message: None) as client:
        result = await client.call_tool("report", progress=lambda it: told.append(it.progress))
        assert (result.text, told) == ("reported", [1, 2, 3, 4, 5])


async def refused(visit: Visit) -> None:
    async with visit.client() as client:
        calls = (client.call_tool("refuse", {"number": 7}), client.call_tool("nothing"))
        errors = await asyncio.gather(*calls, return_exceptions=True)
        codes = [error.code for error in errors if isinstance(error, RpcError)]
        assert codes == [REFUSED, -32602]
        for tool, wrong in (("add", {"a": "x", "b": 1}), ("fail", {}), ("crash", {})):
            assert (await client.call_tool(tool, wrong)).is_error


async def asked(visit: Visit) -> None:
    async with visit.client(elicitation=lambda form: {"value": "Ada"}) as client:
        assert (await client.call_tool("ask")).text == "Ada"


async def ran_as_task(visit: Visit) -> None:
    async with visit.client() as client:
        task = await client.call_tool("job", task=True)
        assert (await task.result()).text == "done"
        stopped = await client.call_tool("job", {"seconds": NAP}, task=True)
        with suppress(InvalidParamsError):  # on a busy machine it may be done already
            await stopped.cancel()


async def listened(visit: Visit) -> None:
    async with visit.client() as client, client.listen(tools=True, resources=[NOTE]) as changes:
        visit.site.server.resource_updated(NOTE)
        change = await changes.next(timeout=PATIENCE)
        assert change.kind in ("resource", "tools")


async def came_back(visit: Visit) -> None:
    """The server lets the connection go; the stream is resumed (the handshake era)."""
    async with visit.client() as client:
        assert (await client.call_tool("let_go")).text == "came back"


# Clients that do not wait


async def cancelled(visit: Visit) -> None:
    async with visit.client() as client:
        call = asyncio.ensure_future(client.call_tool("sleep", {"seconds": NAP}))
        await asyncio.sleep(visit.chance.random() * SOON)
        call.cancel()
        await asyncio.wait([call])
        assert (await client.call_tool("add", {"a": 1, "b": 2}, into=int)).structured == 3


async def timed_out(visit: Visit) -> None:
    async with visit.client() as client:
        try:
            await client.call_tool("sleep", {"seconds": NAP}, timeout=SOON)
        except CallTimeoutError:
            return
        raise AssertionError("there was time")


async def left(visit: Visit) -> None:
    """Closes while calls are under way, one that asks among them."""
    never = asyncio.Event()

    async def think(form: Any) -> dict[str, Any]:
        await never.wait()
        return {}

    async with visit.client(elicitation=think) as client:
        calls = [
            asyncio.ensure_future(client.call_tool("sleep", {"seconds": NAP})),
            asyncio.ensure_future(client.call_tool("report", {"seconds": SOON})),
            asyncio.ensure_future(client.call_tool("ask")),
        ]
        await asyncio.sleep(visit.chance.random() * 2 * SOON)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def left_a_task(visit: Visit) -> None:
    async with visit.client() as client:
        await client.call_tool("job", {"seconds": NAP}, task=True)


# Clients that are gone


async def abandoned(visit: Visit) -> None:
    """Begins a session and is never heard of again."""
    lines = await _send(visit, _initialize())
    if visit.chance.random() < 0.5:
        await _send(visit, _notify(_session_in(lines)))


async def cut(visit: Visit) -> None:
    """Is gone at any moment: while it asks, while it is answered, while it listens."""
    session = ""
    if visit.mode == "legacy":
        session = _session_in(await _send(visit, _initialize()))
        await _send(visit, _notify(session))
    for _ in range(4):
        data = visit.chance.choice((_report, _sleep, _listen))(session)
        if visit.chance.random() < 0.3:
            data = data[: visit.chance.randrange(len(data))]
        await _send(visit, data, leave_after=visit.chance.random() * 0.05)


def _report(session: str) -> bytes:
    return _call("report", {"seconds": 0.01}, session)


def _sleep(session: str) -> bytes:
    return _call("sleep", {"seconds": 0.03}, session)


def _listen(session: str) -> bytes:
    if session:
        return f"GET /mcp HTTP/1.1\r\n{_HEADERS}mcp-session-id: {session}\r\n\r\n".encode()
    params = {"notifications": {"toolsListChanged": True}, "_meta": _META}
    return _post("subscriptions/listen", params, headers=_modern("subscriptions/listen"))


def _call(tool: str, arguments: dict[str, Any], session: str) -> bytes:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if session:
        params["_meta"] = {"progressToken": 1}
        return _post("tools/call", params, headers=f"mcp-session-id: {session}\r\n")
    headers = _modern("tools/call") + f"mcp-name: {tool}\r\n"
    return _post("tools/call", {**params, "_meta": _META}, headers=headers)


def _modern(method: str) -> str:
    return f"mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n"


def _initialize() -> bytes:
    client = {"name": "soak", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    return _post("initialize", params)


def _notify(session: str) -> bytes:
    return _post("notifications/initialized", None, headers=f"mcp-session-id: {session}\r\n")


def _post(method: str, params: Any, *, headers: str = "") -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message |= {"id": 1, "params": params}
    body = msgspec.json.encode(message)
    head = f"POST /mcp HTTP/1.1\r\n{_HEADERS}{headers}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _session_in(head: bytes) -> str:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b": ")
        if name.lower() == b"mcp-session-id":
            return value.decode()
    raise AssertionError(f"no session in {head!r}")


async def _send(visit: Visit, data: bytes, *, leave_after: float | None = None) -> bytes:
    """Send bytes over a connection of their own; the head of what is answered, or nothing for
    one who does not wait for it."""
    parts = urlsplit(visit.site.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(data)
        if leave_after is not None:
            await asyncio.sleep(leave_after)
            return b""
        async with asyncio.timeout(PATIENCE):
            return await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.transport.abort()


WEIGHTS: Final[dict[Kind, int]] = {
    called: 20,
    called_together: 10,
    reported: 10,
    refused: 5,
    asked: 8,
    ran_as_task: 4,
    listened: 8,
    came_back: 2,
    cancelled: 8,
    timed_out: 4,
    left: 8,
    left_a_task: 3,
    abandoned: 6,
    cut: 10,
}
