"""The official SDK gets in: with a token that it has, and with one that it gets by OAuth from
nothing but what our server says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from accord.mcp.server.auth import Principal, ProtectedResource
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.site import served
from tests.mcp.interop.commands import PATIENCE, python
from tests.mcp.server.auth.service import ROOT, make_shop, tokens
from tests.mcp.server.http.service import serving

PEER = Path(__file__).parent / "peers" / "official.py"


@pytest.fixture(autouse=True)
def sdk() -> str:
    """The interpreter that has the official SDK, which is installed before a test's time runs."""
    return python("mcp")


async def report(*arguments: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        python("mcp"),
        str(PEER),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        told, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return json.loads(told)


@pytest.mark.req("M-17")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_sdk_shows_its_token(mode: str) -> None:
    async with make_shop().serve("http://127.0.0.1:0/mcp", auth=tokens()) as serving:
        assert await report("token", ROOT, serving.url, mode) == {
            "tools": ["whoami", "orders", "order", "close"],
            "whoami": "root",
            "ordered": "ordered a lamp",
        }


@pytest.mark.req("M-17")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_sdk_gets_a_token_and_then_more_scopes(mode: str) -> None:
    authority = Authority()

    class Granted:
        def verify(self, token: str) -> Principal | None:
            scope = authority.granted.get(token)
            if scope is None:
                return None
            return Principal(subject="ada", client_id="client-1", scopes=frozenset(scope.split()))

    async with serving(make_shop()) as free:
        url = free.url
    async with served(authority):
        authority.publish()
        auth = ProtectedResource(
            Granted(),
            resource=url,
            authorization_servers=[authority.issuer],
            scopes=["orders:read"],
        )
        async with make_shop().serve(url, auth=auth):
            assert await report("oauth", "", url, mode) == {
                "tools": ["whoami", "orders"],
                "whoami": "ada",
                "ordered": "ordered a lamp",
            }
    asked = [set(scope.split()) for scope in authority.granted.values()]
    assert asked == [{"orders:read"}, {"orders:read", "orders:write"}]
