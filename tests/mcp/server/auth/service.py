"""A shop whose tools are not for everybody, and tokens for those who use it."""

from __future__ import annotations

from typing import Any

from accord.mcp import Context, Server
from accord.mcp.server.auth import Principal, StaticTokens

ADA = "token-of-ada"
EVE = "token-of-eve"
ROOT = "token-of-root"

TOKENS: dict[str, Principal | str] = {
    ADA: Principal(subject="ada", scopes=frozenset(("orders:read",))),
    EVE: "eve",
    ROOT: Principal(
        subject="root",
        scopes=frozenset(("orders:read", "orders:write")),
        claims={"admin": True},
    ),
}


def tokens() -> StaticTokens:
    return StaticTokens(TOKENS)


def make_shop(**options: Any) -> Server:
    server = Server("shop", **options)

    @server.tool(inline=True)
    def whoami(context: Context) -> str:
        return context.principal.subject if context.principal else "nobody"

    @server.tool(inline=True, scopes=("orders:read",))
    def orders() -> str:
        return "your orders"

    @server.tool(scopes=("orders:read", "orders:write"))
    async def order(what: str) -> str:
        return f"ordered {what}"

    @server.tool(inline=True, allow=lambda who: who is not None and who.claims.get("admin"))
    def close() -> str:
        return "closed"

    @server.resource("order://last", scopes=("orders:read",))
    def last() -> str:
        return "a lamp"

    @server.resource("till://", allow=lambda who: who is not None and who.subject == "root")
    def till() -> str:
        return "100"

    @server.resource("order://{number}", scopes=("orders:read",))
    def numbered(number: str) -> str:
        return f"order {number}"

    @server.prompt(scopes=("orders:write",))
    def buy(what: str) -> str:
        return f"Buy {what}"

    return server


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
