"""What callers of a hub do in a soak: each kind comes, calls, and takes whatever end it takes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from accord.mcp import Client
from tests.hub.races.line import Line, lines, unique

Mode: TypeAlias = Literal["modern", "legacy"]

PATIENCE: Final = 60.0
WORDS: Final = ("payment", "login", "refund", "basket", "invoice", "account", "order", "price")
FOUND: Final = frozenset({200, 404})
"""Whoever asks for what another deletes at the same time."""
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Visit(Struct, frozen=True):
    """One caller that is about to come."""

    url: str
    token: str
    session: str
    """Of the administrator, who signed in."""
    mode: Mode
    chance: random.Random

    def client(self) -> Client:
        return Client(f"{self.url}/api/v1/mcp", mode=self.mode, auth=self.token, timeout=PATIENCE)

    def text(self) -> str:
        return " ".join(self.chance.choice(WORDS) for _ in range(self.chance.randint(1, 12)))


Kind: TypeAlias = Callable[[Visit], Awaitable[None]]


async def wrote(visit: Visit) -> None:
    """Makes a tree by REST, changes it, and takes it away."""
    async with lines(visit.url, visit.token, 1) as (line,):
        epic = await _made(line, "/epics", title=visit.text())
        story = await _made(line, "/user-stories", epic_id=epic["id"], title=visit.text())
        of_it: dict[str, Any] = {"user_story_id": story["id"]}
        requirement = await _made(line, "/requirements", **of_it, title=visit.text())
        other = await _made(line, "/requirements", **of_it, title=visit.text())
        ends = {"source_id": requirement["id"], "target_id": other["id"], "type": "depends_on"}
        await _made(line, "/relationships", **ends)
        await _made(line, "/comments", target_id=requirement["id"], text=visit.text())
        path = f"/requirements/{requirement['reference_id']}"
        changed = await line.ask("PATCH", path, {"description": visit.text()}, if_match='"1"')
        assert changed.status == 200, changed
        stale = await line.ask("PATCH", path, {"title": "too late"}, if_match='"1"')
        assert stale.status == 412, stale
        undone = await line.ask("POST", f"/changes/{changed.json['change_id']}/undo", {})
        assert undone.status == 200, undone
        tree = await line.ask("GET", f"/epics/{epic['id']}/hierarchy")
        assert tree.json["shown"] == 4, tree
        deleted = await line.ask("DELETE", f"/epics/{epic['id']}?force=true")
        assert deleted.status == 204, deleted


async def kept(visit: Visit) -> None:
    """Leaves something for others to find."""
    async with lines(visit.url, visit.token, 1) as (line,):
        await _made(line, "/epics", title=visit.text(), description=visit.text())


async def read(visit: Visit) -> None:
    async with lines(visit.url, visit.token, 1) as (line,):
        for _ in range(5):
            found = await line.ask("GET", f"/search?q={visit.chance.choice(WORDS)}&limit=5")
            assert found.status == 200, found
            listed = await line.ask("GET", "/epics?limit=20&sort=-updated_at")
            assert listed.status == 200, listed
            for each in listed.json["items"][:3]:
                one = await line.ask("GET", f"/epics/{each['reference_id']}")
                history = await line.ask("GET", f"/items/{each['id']}/history")
                assert {one.status, history.status} <= FOUND, (one, history)


async def refused(visit: Visit) -> None:
    async with lines(visit.url, visit.token, 1) as (line,):
        statuses = [
            (await line.ask("POST", "/epics", {"title": ""})).status,
            (await line.ask("POST", "/epics", {"title": "x", "colour": "red"})).status,
            (await line.ask("GET", "/epics/EP-999999999")).status,
            (await line.ask("GET", "/nothing")).status,
        ]
        line.token = "accord_pat_nobody"
        statuses.append((await line.ask("GET", "/epics")).status)
        assert statuses == [422, 422, 404, 404, 401]


async def called(visit: Visit) -> None:
    async with visit.client() as client:
        made = await client.call_tool("create_epic", {"title": visit.text()})
        assert not made.is_error, made
        epic: Any = made.structured
        for _ in range(3):
            found = await client.call_tool("search_global", {"query": visit.chance.choice(WORDS)})
            assert not found.is_error, found
        wrong = await client.call_tool("update_epic", {"id": epic["id"], "status": "Asleep"})
        assert wrong.is_error
        await client.read_resource(f"epic://{epic['reference_id']}/hierarchy")
        assert len(await client.list_tools()) > 50
        gone = await client.call_tool("delete_epic", {"id": epic["id"]})
        assert not gone.is_error, gone


async def listened(visit: Visit) -> None:
    """Hears of what it changes itself."""
    async with visit.client() as client:
        made: Any = (await client.call_tool("create_epic", {"title": visit.text()})).structured
        uri = f"epic://{made['reference_id']}"
        async with client.listen(resources=[uri]) as changes:
            await client.call_tool("update_epic", {"id": made["id"], "title": visit.text() + "!"})
            assert (await changes.next(timeout=PATIENCE)).uri == uri
        await client.call_tool("delete_epic", {"id": made["id"]})


async def left(visit: Visit) -> None:
    """Closes while calls are under way."""
    async with visit.client() as client:
        calls = [
            asyncio.ensure_future(client.call_tool("search_global", {"query": "*"}))
            for _ in range(4)
        ]
        await asyncio.sleep(visit.chance.random() * 0.02)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def cut(visit: Visit) -> None:
    """Is gone at any moment: while it asks, while it is answered, while it listens."""
    params: dict[str, Any] = {"notifications": {"promptsListChanged": True}, "_meta": META}
    listen = _post(visit, "subscriptions/listen", params)
    called = {"name": "search_global", "arguments": {"query": "*"}, "_meta": META}
    call = _post(visit, "tools/call", called, "mcp-name: search_global\r\n")
    parts = urlsplit(visit.url)
    for _ in range(3):
        data = visit.chance.choice((listen, call))
        if visit.chance.random() < 0.3:
            data = data[: visit.chance.randrange(1, len(data))]
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(data)
        await asyncio.sleep(visit.chance.random() * 0.05)
        writer.transport.abort()


async def revoked(visit: Visit) -> None:
    """Uses a token that is then taken away."""
    name = unique("soak")
    async with lines(visit.url, visit.session, 2) as (owner, caller):
        made = await _made(owner, "/tokens", name=name)
        caller.token = made["token"]
        assert (await caller.ask("GET", "/epics?limit=1")).status == 200
        assert (await caller.tool("list_epics", limit=1)).status == 200
        gone = await owner.ask("DELETE", f"/tokens/{made['id']}")
        assert gone.status == 204, gone
        assert (await caller.ask("GET", "/epics?limit=1")).status == 401
        assert (await caller.tool("list_epics", limit=1)).status == 401


async def _made(line: Line, path: str, **fields: Any) -> dict[str, Any]:
    answer = await line.ask("POST", path, fields)
    assert answer.status == 201, answer
    made: dict[str, Any] = answer.json
    return made


def _post(visit: Visit, method: str, params: Any, headers: str = "") -> bytes:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    head = (
        f"POST /api/v1/mcp HTTP/1.1\r\nhost: {urlsplit(visit.url).netloc}\r\n"
        "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {visit.token}\r\nmcp-protocol-version: 2026-07-28\r\n"
        f"mcp-method: {method}\r\n{headers}content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


WEIGHTS: Final[dict[Kind, int]] = {
    wrote: 10,
    kept: 2,
    read: 12,
    refused: 5,
    called: 10,
    listened: 8,
    left: 5,
    cut: 8,
    revoked: 5,
}
