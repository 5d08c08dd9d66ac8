"""Tokens that are bound to a key of the client (RFC 9449)."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pytest
from jwt.algorithms import ECAlgorithm

from accord.mcp import Client
from accord.mcp.client.auth import AuthorizationError, MemoryStorage, OAuth, UntrustedError
from tests.mcp.client.auth.conftest import World
from tests.mcp.client.auth.site import Answer, Asked


@pytest.fixture
def bound(world: World) -> World:
    """A world in which tokens are bound to keys."""
    world.authority.token["token_type"] = "DPoP"
    world.authority.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
    world.service.scheme = "DPoP"
    return world


def _proof(asked: Asked) -> dict[str, Any]:
    """The claims of a proof whose signature is right, along with its key."""
    header = jwt.get_unverified_header(asked.headers["dpop"])
    assert (header["typ"], header["alg"], "d" in header["jwk"]) == ("dpop+jwt", "ES256", False)
    key = ECAlgorithm.from_jwk(header["jwk"])
    claims: dict[str, Any] = jwt.decode(asked.headers["dpop"], key, ["ES256"])  # type: ignore[arg-type]
    return {**claims, "jwk": header["jwk"]}


async def test_every_request_carries_a_proof_of_its_own(bound: World) -> None:
    async with bound.client(bound.oauth(dpop=True)) as client:
        await client.call_tool("anything")
    (token,) = (_proof(asked) for asked in bound.authority.to("POST /token"))
    calls = [_proof(asked) for asked in bound.service.to("POST /mcp")[1:]]
    assert (token["htm"], token["htu"]) == ("POST", f"{bound.authority.url}/token")
    assert "ath" not in token
    digest = hashlib.sha256(b"token-1").digest()
    for proof in calls:
        assert (proof["htm"], proof["htu"]) == ("POST", bound.service.endpoint)
        assert proof["ath"] == urlsafe_b64encode(digest).rstrip(b"=").decode()
        assert proof["jwk"] == token["jwk"]
    assert len({proof["jti"] for proof in (token, *calls)}) == 3
    assert bound.service.tokens == ["", "DPoP token-1", "DPoP token-1"]


async def test_the_code_is_bound_to_the_key_too(bound: World) -> None:
    async with bound.client(bound.oauth(dpop=True)):
        pass
    (asked,) = bound.authority.to("GET /authorize")
    assert len(asked.parameters["dpop_jkt"]) == 43


async def test_the_query_of_a_url_is_not_part_of_a_proof(bound: World) -> None:
    url = f"{bound.service.endpoint}?key=value"
    bound.service.metadata["resource"] = bound.service.endpoint
    async with Client(url, auth=bound.oauth(dpop=True), mode="modern"):
        pass
    assert _proof(bound.service.to("POST /mcp")[-1])["htu"] == bound.service.endpoint


async def test_a_nonce_of_the_authorization_server_is_used(bound: World) -> None:
    def give(asked: Asked) -> Answer:
        if _proof(asked).get("nonce") != "one":
            return Answer(400, {"error": "use_dpop_nonce"}, {"dpop-nonce": "one"})
        return bound.authority.give(asked)

    bound.authority.routes["POST /token"] = give
    async with bound.client(bound.oauth(dpop=True)):
        pass
    assert [_proof(asked).get("nonce") for asked in bound.authority.to("POST /token")] == [
        None,
        "one",
    ]


async def test_a_nonce_of_the_server_is_used_until_there_is_another(bound: World) -> None:
    nonces = ["one"]

    def check(asked: Asked, token: str) -> Answer | None:
        if _proof(asked).get("nonce") == nonces[-1]:
            return None
        headers = {"www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": nonces[-1]}
        return Answer(401, headers=headers)

    bound.service.check = check
    async with bound.client(bound.oauth(dpop=True)) as client:
        await client.call_tool("anything")
        nonces.append("two")
        await client.call_tool("anything")
    assert [_proof(asked).get("nonce") for asked in bound.service.to("POST /mcp")[1:]] == [
        None,
        "one",
        "one",
        "one",
        "two",
    ]
    assert len(bound.browser.visited) == 1


@pytest.mark.parametrize("nonce", ["", "x", "x" * 2000])
async def test_a_server_that_is_never_content_is_given_up(bound: World, nonce: str) -> None:
    headers = {"www-authenticate": 'DPoP error="use_dpop_nonce"'}
    if nonce:
        headers["dpop-nonce"] = nonce
    bound.service.check = lambda asked, token: Answer(401, headers=headers)
    with pytest.raises(Exception, match="401"):
        async with bound.client(bound.oauth(dpop=True)):
            pass
    assert len(bound.browser.visited) == 1


async def test_an_authorization_server_that_is_never_content_is_given_up(bound: World) -> None:
    bound.authority.routes["POST /token"] = lambda asked: Answer(
        400, {"error": "use_dpop_nonce"}, {"dpop-nonce": "x"}
    )
    with pytest.raises(AuthorizationError, match="use_dpop_nonce"):
        async with bound.client(bound.oauth(dpop=True)):
            pass
    assert len(bound.authority.to("POST /token")) == 2


async def test_a_token_that_is_not_bound_is_refused(bound: World) -> None:
    bound.authority.token["token_type"] = "Bearer"
    with pytest.raises(UntrustedError, match="not bound"):
        async with bound.client(bound.oauth(dpop=True)):
            pass
    assert bound.service.tokens == [""]


async def test_an_authorization_server_without_our_algorithm_is_not_asked(bound: World) -> None:
    bound.authority.metadata["dpop_signing_alg_values_supported"] = ["RS256"]
    with pytest.raises(AuthorizationError, match="ES256"):
        async with bound.client(bound.oauth(dpop=True)):
            pass
    assert bound.browser.visited == []


async def test_a_server_that_needs_bound_tokens_gets_them_when_told_so(bound: World) -> None:
    bound.service.metadata["dpop_bound_access_tokens_required"] = True
    with pytest.raises(AuthorizationError) as caught:
        async with bound.client():
            pass
    assert "dpop=True" in caught.value.advice


async def test_the_key_is_kept_with_the_token(bound: World) -> None:
    storage = MemoryStorage()
    for _ in range(2):
        async with bound.client(bound.oauth(dpop=True, storage=storage)):
            pass
    keys = {str(_proof(asked)["jwk"]) for asked in bound.service.to("POST /mcp")[1:]}
    assert len(keys) == 1
    assert len(bound.browser.visited) == 1


async def test_a_kept_token_of_the_other_kind_is_not_used(world: World) -> None:
    storage = MemoryStorage()
    async with world.client(world.oauth(storage=storage)):
        pass
    world.authority.token["token_type"] = "DPoP"
    world.service.scheme = "DPoP"
    auth: OAuth = world.oauth(storage=storage, dpop=True)
    async with world.client(auth):
        pass
    assert world.service.tokens == ["", "Bearer token-1", "", "DPoP token-2"]
