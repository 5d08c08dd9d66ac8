"""One server with everything, in every version: each message is what that version's schema says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import Peer, Router, RpcError
from accord.mcp import (
    AudioContent,
    Context,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    Server,
    TextContent,
    ToolAnnotations,
)
from accord.mcp.protocol.content import Annotations, Icon
from accord.mcp.protocol.messages import CallToolResult
from accord.mcp.protocol.versions import HANDSHAKE_VERSIONS, VERSIONS
from tests.mcp.schemas import connected

META = {"example.com/note": {"a": 1}}
ICONS = (Icon("https://example.com/i.png", "image/png", ("any",), "light"),)
NOTES = Annotations(audience=("user",), priority=1.0, last_modified="2026-01-01T00:00:00Z")
NAMED: dict[str, Any] = {"title": "T", "description": "D", "icons": ICONS, "meta": META}


def everything() -> Server:
    server = Server(
        "all",
        version="1",
        title="All",
        description="Everything",
        website_url="https://example.com",
        icons=ICONS,
        instructions="Use it.",
        page_size=2,
    )

    @server.tool(annotations=ToolAnnotations(title="A", read_only_hint=True), **NAMED)
    def number(a: int = 1) -> int:
        return a

    @server.tool
    def record() -> dict[str, int]:
        return {"a": 1}

    @server.tool
    def blocks() -> list[Any]:
        return [
            TextContent(text="t", annotations=NOTES, meta=META),
            ImageContent.of(b"i", "image/png"),
            AudioContent.of(b"a", "audio/wav"),
            ResourceLink(uri="x:y", name="n", annotations=NOTES, icons=ICONS, size=1),
            EmbeddedResource(resource=ResourceContents.of("x:y", b"b", "a/b"), annotations=NOTES),
        ]

    @server.tool
    def ready() -> CallToolResult:
        return CallToolResult(content=[], structured_content=[1], is_error=True, meta=META)

    @server.tool
    async def talk(context: Context) -> str:
        context.progress(0.5, total=1, message="half")
        context.log("warning", {"a": 1}, logger="l")
        return "done"

    @server.resource("x:one", mime_type="text/plain", size=3, annotations=NOTES, **NAMED)
    def one() -> str:
        return "one"

    @server.resource("x:two")
    def two() -> ResourceContents:
        return ResourceContents(uri="x:two", blob="AA==", mime_type="a/b", meta=META)

    @server.resource("x:many/{id}", annotations=NOTES, **NAMED)
    def many(id: str) -> bytes:
        return id.encode()

    @server.prompt("greet", **NAMED)
    def greet(name: str, style: str = "") -> str:
        return f"hello {name}"

    @server.prompt
    def attach() -> list[Any]:
        return [AudioContent.of(b"a", "audio/wav"), ResourceLink(uri="x:y", name="n")]

    @server.completion("greet", "name")
    def names(value: str) -> list[str]:
        return [value + "a", value + "b"]

    return server


class Talk:
    """A client of one version."""

    def __init__(self, peer: Peer, version: str) -> None:
        self.peer = peer
        self.version = version
        self.handshake = version in HANDSHAKE_VERSIONS

    async def begin(self) -> None:
        if not self.handshake:
            await self("server/discover")
            return
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": info}
        await self.peer.call("initialize", params)
        await self.peer.notify("notifications/initialized")

    async def __call__(self, method: str, **params: Any) -> Any:
        meta: dict[str, Any] = {"progressToken": "p"}
        if not self.handshake:
            meta |= {
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/logLevel": "debug",
            }
        return await self.peer.call(method, {**params, "_meta": meta})

    async def all_of(self, method: str) -> None:
        """All pages of a list."""
        result = await self(method)
        while "nextCursor" in result:
            result = await self(method, cursor=result["nextCursor"])


@asynccontextmanager
async def talking(version: str, client: Router | None = None) -> AsyncIterator[tuple[Talk, Server]]:
    server = everything()
    async with connected(server.router, client=client) as peer:
        talk = Talk(peer, version)
        await talk.begin()
        yield talk, server


every_version = pytest.mark.parametrize("version", VERSIONS)


@pytest.mark.req("M-01", "M-05")
@every_version
async def test_lists_are_what_the_version_says(version: str) -> None:
    async with talking(version) as (talk, _):
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            await talk.all_of(method)


@pytest.mark.req("M-01", "M-08")
@every_version
async def test_results_are_what_the_version_says(version: str) -> None:
    async with talking(version) as (talk, _):
        for tool in ("number", "record", "blocks", "ready"):
            await talk("tools/call", name=tool, arguments={})
        for uri in ("x:one", "x:two", "x:many/7"):
            await talk("resources/read", uri=uri)
        await talk("prompts/get", name="greet", arguments={"name": "Ada"})
        await talk("prompts/get", name="attach")
        argument = {"name": "name", "value": "A"}
        reference = {"type": "ref/prompt", "name": "greet"}
        await talk("completion/complete", ref=reference, argument=argument)


@pytest.mark.req("M-01", "M-11")
@every_version
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "none"}),
        ("prompts/get", {"name": "none"}),
        ("prompts/get", {"name": "greet"}),
        ("resources/read", {"uri": "x:none"}),
        ("tools/list", {"cursor": "none"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "a", "value": ""}}),
    ],
)  # fmt: skip
async def test_errors_are_what_the_version_says(
    version: str, method: str, params: dict[str, Any]
) -> None:
    async with talking(version) as (talk, _):
        try:
            await talk(method, **params)
        except RpcError as error:
            assert error.code in (-32602, -32002)  # noqa: PT017


@pytest.mark.req("M-01", "M-05")
@every_version
async def test_notifications_are_what_the_version_says(version: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    client = Router()
    for name in (
        "progress",
        "message",
        "tools/list_changed",
        "resources/updated",
        "subscriptions/acknowledged",
    ):
        client.add(lambda *, name=name, **params: heard.put_nowait(name), f"notifications/{name}")
    async with talking(version, client) as (talk, server):
        if talk.handshake:
            await talk("logging/setLevel", level="debug")
            await talk("resources/subscribe", uri="x:one")
            listening = None
        else:
            wanted = {"toolsListChanged": True, "resourceSubscriptions": ["x:one"]}
            listening = asyncio.ensure_future(talk("subscriptions/listen", notifications=wanted))
            assert await heard.get() == "subscriptions/acknowledged"
        await talk("tools/call", name="talk")
        assert [await heard.get(), await heard.get()] == ["progress", "message"]
        server.tools.remove("number")
        server.resource_updated("x:one")
        assert [await heard.get(), await heard.get()] == ["tools/list_changed", "resources/updated"]
        if talk.handshake:
            await talk("resources/unsubscribe", uri="x:one")
        if listening is not None:
            server.closing.set()
            await listening
