"""A hub over HTTP; a caller's token is a username."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from accord.hub.mcp.server import hub_server
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.mcp import Server
from accord.mcp.server.auth.authenticator import Refusal
from accord.mcp.server.session import Principal
from accord.operations.context import Caller, Scope, default_scopes
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply as WebReply
from tests.hub.world import World
from tests.mcp.server.http.service import Reply, Site, modern_headers, request, serving, with_meta

MODERN, LEGACY, PLAIN = "2026-07-28", "2025-11-25", "plain"
WAYS = (PLAIN, LEGACY, MODERN)
INFO = {"io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}}


class Names:
    """An authenticator that reads tokens as usernames with scopes: `uma:read`."""

    def __init__(self, world: World) -> None:
        self._people = {
            each.username: each for each in (world.admin, world.user, world.other, world.commenter)
        }

    def page(self, request: WebRequest) -> WebReply | None:
        return None

    def refusal(self, request: WebRequest) -> Refusal | None:
        if self._caller(request) is not None:
            return None
        return Refusal(401, b"www-authenticate: Bearer\r\n", b"{}")

    def authenticate(self, request: WebRequest, channel: ChannelInfo | None = None) -> Principal:
        caller = self._caller(request)
        assert caller is not None
        return Principal(
            subject=caller.user_id,
            client_id=caller.token_id,
            scopes=caller.scopes,
            claims={"caller": caller},
        )

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        return b""

    def _caller(self, request: WebRequest) -> Caller | None:
        token = request.fields.get("authorization", "").removeprefix("Bearer ")
        name, _, wanted = token.partition(":")
        person = self._people.get(name)
        if person is None:
            return None
        scopes: Any = frozenset(wanted.split(",")) if wanted else default_scopes(person.role)
        given: frozenset[Scope] = scopes
        return replace(person, via="token", token_id=f"token-{token}", scopes=given)


class Hub:
    """A served hub with a client."""

    def __init__(self, world: World, server: Server, site: Site) -> None:
        self.world = world
        self.server = server
        self.site = site

    async def ask(self, method: str, /, who: str = "ada", way: str = PLAIN, **params: Any) -> Reply:
        token = {"authorization": f"Bearer {who}"}
        if way == MODERN:
            body = request(method, with_meta({**params, "_meta": INFO}))
            return await self.site.post(body, **modern_headers(method, params), **token)
        if way == PLAIN:
            return await self.site.post(request(method, params), **token)
        return await (await self.site.session(way, **token)).request(method, **params)

    async def tool(self, tool: str, /, who: str = "ada", way: str = PLAIN, **given: Any) -> Any:
        """Return the structured content of a successful call."""
        answer = await self.ask("tools/call", who, way, name=tool, arguments=given)
        result = answer.json["result"]
        assert "isError" not in result, result
        return result["structuredContent"]

    async def read(self, uri: str, /, who: str = "ada", way: str = PLAIN) -> Reply:
        return await self.ask("resources/read", who, way, uri=uri)


@asynccontextmanager
async def serving_hub(world: World, **options: Any) -> AsyncIterator[Hub]:
    server = hub_server(world.runner, auth=Names(world))
    async with serving(server, plain=True, **options) as site:
        yield Hub(world, server, site)
