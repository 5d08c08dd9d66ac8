"""Where tokens and secrets are never to be seen."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from accord.mcp import Client
from accord.mcp.client.auth import AuthorizationError, ClientCredentials, PrivateKey
from accord.mcp.client.auth.tokens import Registration, Token, TokenResponse
from accord.mcp.client.auth_hook import AuthRequest
from tests.mcp.client.auth.conftest import World


def test_nothing_that_is_secret_is_in_a_representation() -> None:
    token = Token(
        access_token="hidden",
        scheme="Bearer",
        issuer="i",
        resource="r",
        client_id="c",
        requested=(),
        granted=(),
        refresh_token="hidden",
    )
    values = (
        token,
        TokenResponse(access_token="hidden", token_type="Bearer", refresh_token="hidden"),
        Registration(client_id="c", client_secret="hidden"),
        PrivateKey("hidden"),
        ClientCredentials("c", "hidden"),
    )
    assert [value for value in values if "hidden" in repr(value)] == []


async def test_nothing_that_is_secret_is_logged_or_in_an_url(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    world.authority.token["expires_in"] = 0
    auth = world.oauth(client_id="known", client_secret="hidden")
    async with world.client(auth) as client:
        await client.call_tool("anything")
        world.authority.refuses = {"refresh_token": "invalid_grant"}
        await client.call_tool("anything")
    secrets = ("token-", "refresh-", "hidden", "code-")
    assert not any(secret in caplog.text for secret in secrets)
    urls = [f"{asked.path}?{asked.query}" for asked in world.authority.asked + world.service.asked]
    assert not any(secret in url for secret in secrets for url in urls)


async def test_a_token_is_not_sent_to_another_host(world: World) -> None:
    auth = world.oauth()
    async with world.client(auth):
        pass
    server = world.service.endpoint
    for url in (
        "http://elsewhere.example/mcp",
        server.replace("127.0.0.1", "localhost"),
        "http://127.0.0.1:1/mcp",
        server.replace("http:", "https:"),
    ):
        request = AuthRequest(method="POST", url=url, server=server)
        assert await auth.headers(request) == {}
        assert await auth.challenged(request, 401, {}) is False
    same = AuthRequest(method="POST", url=f"{world.service.url}/messages", server=server)
    assert await auth.headers(same) == {"authorization": "Bearer token-1"}


async def test_a_server_without_tls_elsewhere_gets_no_token(world: World) -> None:
    auth = world.oauth()
    request = AuthRequest(
        method="POST", url="http://elsewhere.example/mcp", server="http://elsewhere.example/mcp"
    )
    with pytest.raises(AuthorizationError, match="must be an https URL"):
        await auth.challenged(request, 401, {"www-authenticate": "Bearer"})


async def test_a_fixed_token_is_sent_as_it_is(world: World) -> None:
    world.authority.granted["fixed"] = ""
    async with Client(world.service.endpoint, auth="fixed", mode="modern") as client:
        await client.call_tool("anything")
    assert world.service.tokens == ["Bearer fixed", "Bearer fixed"]
    assert world.authority.asked == []


@pytest.mark.parametrize(
    "use", ['PrivateKey("pem")', "OAuth(dpop=True)", 'ClientCredentials("a", "b", dpop=True)']
)
def test_signing_without_the_packages_says_at_once_what_to_install(use: str) -> None:
    program = f"""
import sys
sys.modules["jwt"] = None
from accord.mcp.client.auth import ClientCredentials, OAuth, PrivateKey
OAuth(), ClientCredentials("a", "b")
try:
    {use}
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "signing needs PyJWT and cryptography: install accord[auth]\n"
