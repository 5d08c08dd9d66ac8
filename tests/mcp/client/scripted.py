"""Servers that say what a test wants them to say, right or wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import UNSET

from accord import Peer, Router, RpcError
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import raw_method
from accord.jsonrpc.protocol.channel import Channel
from accord.mcp import Server
from accord.mcp.protocol.versions import LATEST_HANDSHAKE
from accord.transports.memory import listen_memory
from accord.transports.options import Options
from tests.mcp.schemas import Traffic, WatchedChannel, watched

Method = Callable[[dict[str, Any]], Any]

CAPABILITIES = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}}


class Scripted:
    """A server in memory. Methods get their params, with `_meta`, as a dict; what they return or
    raise is the answer."""

    def __init__(self, methods: Mapping[str, Method]) -> None:
        self.router = Router()
        self.heard: list[tuple[str, dict[str, Any]]] = []
        """Every request and notification, in order."""
        self.arrived = asyncio.Condition()
        self.peer: Any = None
        for name, method in methods.items():
            self.router.put(raw_method(self._plan(name, method), name))

    def _plan(self, name: str, method: Method) -> Callable[[Any, Context | None], Any]:
        def plan(params: Any, context: Context | None) -> Any:
            assert context is not None
            self.peer = context.peer
            found = {} if params is UNSET else msgspec.json.decode(params)
            self.heard.append((name, found))
            return method(found)

        return plan

    def methods(self) -> list[str]:
        return [name for name, _ in self.heard]


def modern(methods: Mapping[str, Method], **capabilities: Any) -> Scripted:
    """A server of the stateless era."""
    discovered = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {**CAPABILITIES, **capabilities},
        "ttlMs": 0,
        "cacheScope": "public",
    }
    return Scripted({"server/discover": lambda params: discovered, **methods})


def legacy(methods: Mapping[str, Method], **capabilities: Any) -> Scripted:
    """A server of the handshake era."""

    def initialize(params: dict[str, Any]) -> Any:
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {**CAPABILITIES, **capabilities},
            "serverInfo": {"name": "old", "version": "1"},
        }

    return Scripted(
        {
            "initialize": initialize,
            "notifications/initialized": lambda params: None,
            "notifications/cancelled": lambda params: None,
            **methods,
        }
    )


def refuse(code: int, message: str = "no", data: Any = None) -> Method:
    def method(params: dict[str, Any]) -> Any:
        raise RpcError(message, code=code, data=data)

    return method


def complete(**members: Any) -> dict[str, Any]:
    return {"resultType": "complete", **members}


def text(value: str, **members: Any) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": value}], **members}


async def never(params: dict[str, Any]) -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def watched_server(
    server: Server | Scripted, version: str = LATEST_HANDSHAKE
) -> AsyncIterator[tuple[str, Traffic]]:
    """The URL of a server in memory; every message in either direction is checked."""
    peers: list[Peer] = []
    with watched(version) as traffic:

        def accept(channel: Channel) -> None:
            peers.append(Peer(WatchedChannel(channel, traffic, "server"), server.router))

        url = "memory:watched"
        listener = await listen_memory(url, accept, Options())
        try:
            yield url, traffic
        finally:
            await listener.close()
            for peer in peers:
                await peer.close()
