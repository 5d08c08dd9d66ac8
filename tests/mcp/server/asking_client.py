"""A client for tests of what servers ask: raw messages, both eras, over memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from accord import Peer, Router
from accord.mcp import Server
from accord.transports.memory import memory_pair
from tests.mcp.schemas import connected

INFO = {"io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1"}}
ALL: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
}


def modern(capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The metadata of a stateless request."""
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": ALL if capabilities is None else capabilities,
        **more,
    }


class Client:
    """One connection to a server."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    async def shake_hands(
        self, version: str = "2025-11-25", capabilities: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        params = {
            "protocolVersion": version,
            "capabilities": ALL if capabilities is None else capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }
        result: dict[str, Any] = await self.peer.call("initialize", params)
        await self.peer.notify("notifications/initialized")
        return result

    async def tool(self, name: str, arguments: dict[str, Any] | None = None, **params: Any) -> Any:
        return await self.peer.call(
            "tools/call", {"name": name, "arguments": arguments or {}, **params}
        )

    async def ask_until_done(
        self,
        method: str,
        params: dict[str, Any],
        answer: Callable[[str, dict[str, Any]], Any],
        capabilities: dict[str, Any] | None = None,
    ) -> tuple[Any, list[Any]]:
        """The last result of a stateless request, and the results that asked for input."""
        params = {**params, "_meta": modern(capabilities)}
        asked = []
        result = await self.peer.call(method, params)
        while result["resultType"] == "input_required":
            asked.append(result)
            responses = {key: answer(key, it) for key, it in result["inputRequests"].items()}
            again = {**params, "inputResponses": responses, "requestState": result["requestState"]}
            result = await self.peer.call(method, again)
        return result, asked


@asynccontextmanager
async def client_of(server: Server, router: Router | None = None) -> AsyncIterator[Client]:
    """A client; `router` serves what the server asks it. Every message is checked."""
    async with connected(server.router, client=router) as peer:
        yield Client(peer)


@asynccontextmanager
async def unchecked(server: Server, router: Router | None = None) -> AsyncIterator[Client]:
    """A client that sends what no client should."""
    near, far = memory_pair()
    async with Peer(far, server.router), Peer(near, router) as peer:
        yield Client(peer)


def text_of(result: Any) -> str:
    """What a tool said."""
    [block] = result["content"]
    text: str = block["text"]
    return text
