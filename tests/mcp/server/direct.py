"""Requests to a server without a connection: for what a transport would know and a client
cannot say, such as on whose behalf it calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.mcp import Principal, Server
from accord.mcp.server.session import LINK, Session

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Caller:
    """A link without a client, and a source of requests."""

    def __init__(self, principal: Principal | None = None, **headers: str) -> None:
        self.principal = principal
        self.session: Session | None = None
        self.told: list[tuple[str, Any]] = []
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self._answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

    async def ask(self, server: Server, method: str, **params: Any) -> Any:
        """The whole answer to a request of the stateless era."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": META},
        }
        dispatcher = Dispatcher(server.router, limits=Limits())
        self._answer = asyncio.get_running_loop().create_future()
        found = dispatcher.handle(msgspec.json.encode(message), self)
        data = found if isinstance(found, bytes) else await self._answer
        assert data is not None
        return msgspec.json.decode(data)

    # What the dispatcher wants of a source

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(
            method,
            id,
            channel=ChannelInfo(scheme="test"),
            headers=self._headers,
            state={LINK: self},
        )

    def answer(self, data: bytes | None) -> None:
        self._answer.set_result(data)

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError

    # What handlers want of a link

    def notify(self, method: str, params: Any) -> None:
        self.told.append((method, msgspec.to_builtins(params)))

    announce = notify

    def at_end(self, callback: Callable[[], None]) -> None:
        pass

    def cancel(self, id: Any) -> None:
        raise AssertionError

    def close_stream(self) -> None:
        pass
