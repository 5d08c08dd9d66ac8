"""A server that says itself who asks for tokens, wherever it is served."""

from __future__ import annotations

from typing import Any

import pytest

from accord.mcp import Client
from accord.mcp.server.auth import Principal, StaticTokens
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.serving import serve
from tests.mcp.server.auth.service import ADA, EVE, bearer, make_shop, tokens
from tests.mcp.server.http.service import Carrier, initialize, serving
from tests.transports.asgi.service import uvicorn_serving


@pytest.mark.req("M-17")
async def test_a_server_is_guarded_wherever_it_is_served(carrier: Carrier) -> None:
    server = make_shop(auth=tokens())
    async with serving(server, carrier) as site:
        assert (await site.post(initialize())).status == 401
        assert (await site.post(initialize(), **bearer(ADA))).status == 200
    async with server.serve("http://127.0.0.1:0/mcp") as served:
        await see_who_calls(Client(served.url, auth=ADA), "ada")
    async with server.serve("ws://127.0.0.1:0/mcp") as served:
        await see_who_calls(Client(served.url, headers=bearer(EVE)), "eve")
    async with uvicorn_serving(server.asgi("/mcp")) as port:
        await see_who_calls(Client(f"http://127.0.0.1:{port}/mcp", auth=ADA), "ada")


async def see_who_calls(client: Client, name: str) -> None:
    async with client:
        assert (await client.call_tool("whoami")).text == name


async def test_one_place_may_ask_for_other_tokens() -> None:
    server = make_shop(auth=tokens())
    async with serving(server, auth=StaticTokens({"other": "other"})) as site:
        assert (await site.post(initialize(), **bearer(ADA))).status == 401
        assert (await site.post(initialize(), **bearer("other"))).status == 200


async def test_who_starts_a_server_needs_no_token_for_it() -> None:
    server = make_shop(auth=tokens())
    async with server.serve("memory:mine") as served, Client(served.url) as client:
        assert (await client.call_tool("whoami")).text == "nobody"


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:0", "tls://127.0.0.1:0", "unix:///shop"])
async def test_a_guarded_server_is_not_open_to_who_can_connect(url: str) -> None:
    server = make_shop(auth=tokens())
    with pytest.raises(ValueError, match="nobody can present a token"):
        serve(server, url)
    if url.startswith("tcp"):
        team = Principal(subject="team")
        async with server.serve(url, principal=team) as served, Client(served.url) as client:
            assert (await client.call_tool("whoami")).text == "team"


@pytest.mark.parametrize("auth", [{ADA: "ada"}, ADA, object()])
def test_what_asks_for_no_token_is_refused_at_once(auth: Any) -> None:
    with pytest.raises(TypeError, match=r"it is StaticTokens\("):
        McpEndpoint(make_shop(auth=auth))
