"""A request that was let in: what it says in its head, who sent it, how it is answered."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from accord.jsonrpc.codec import encode_failure
from accord.jsonrpc.errors import RpcError
from accord.mcp.server.http.gate import McpHead
from accord.mcp.server.principal import Principal
from accord.transports.web.app import Exchange


class Arrival(Struct, frozen=True, eq=False):
    """One admitted HTTP request."""

    head: McpHead
    principal: Principal | None
    exchange: Exchange

    def accept(self) -> None:
        """Reply to a message without an answer (2025-03-26 and later, transports)."""
        self.exchange.reply(b"", status=202, headers=self.head.lines)

    def refuse(self, status: int, error: RpcError, id: Any = UNSET, headers: bytes = b"") -> None:
        """Answer with an error; `id` is that of the message, if known."""
        body = encode_failure(None if id is UNSET else id, error)
        self.exchange.reply(body, status=status, headers=self.head.json + headers)
