"""Tokens that are bound to a key: of no use to whoever steals one (RFC 9449)."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any

import pytest

from accord.mcp.client.auth.dpop import PrivateKey, Proofs, new_key, public_jwk
from accord.mcp.server.auth import BearerAuth, Principal, ProtectedResource, StaticTokens
from accord.mcp.server.auth.issuers import base64url
from accord.mcp.server.auth.protected_resource import MAX_SEEN, DpopProofs
from accord.transports.urls import parse_web_address
from tests.mcp.server.auth.service import bearer, make_shop
from tests.mcp.server.http.service import Carrier, initialize, request, serving

RESOURCE = "https://shop.example/mcp"
TOKEN = "bound-token"
KEY = new_key()
THUMBPRINT = Proofs(KEY).thumbprint
BOUND = Principal(subject="ada", claims={"cnf": {"jkt": THUMBPRINT}})
TOKENS = StaticTokens({TOKEN: BOUND, "free-token": "eve", "mtls-token": Principal(
    subject="ada", claims={"cnf": {"x5t#S256": "abc"}}
)})  # fmt: skip


def protected(**options: Any) -> ProtectedResource:
    issuers = ["https://issuer.example"]
    return ProtectedResource(TOKENS, resource=RESOURCE, authorization_servers=issuers, **options)


def proof(key: PrivateKey = KEY, *, header: Any = None, **claims: Any) -> str:
    whole = {
        "jti": token_urlsafe(),
        "htm": "POST",
        "htu": RESOURCE,
        "iat": int(time.time()),
        "ath": base64url(sha256(TOKEN.encode()).digest()),
        **claims,
    }
    made = {"typ": "dpop+jwt", "jwk": public_jwk(key), **(header or {})}
    given = {name: value for name, value in made.items() if value is not None}
    return key.sign({name: value for name, value in whole.items() if value is not None}, **given)


def bound(dpop: str, token: str = TOKEN) -> dict[str, str]:
    return {"authorization": f"DPoP {token}", "dpop": dpop}


@pytest.mark.req("M-17")
async def test_a_bound_token_needs_a_proof_for_each_request(carrier: Carrier) -> None:
    async with serving(make_shop(), carrier, auth=protected(), old_sse=True) as site:
        proofs, address = Proofs(KEY), parse_web_address(RESOURCE)
        await site.post(initialize(), **bound(proofs.proof("POST", address, TOKEN)))
        answer = await site.post(initialize(), **bound(proofs.proof("POST", address, TOKEN)))
        assert answer.status == 200
        id = answer.headers["mcp-session-id"]
        ended = bound(proofs.proof("DELETE", address, TOKEN))
        assert (await site.send("DELETE", mcp_session_id=id, **ended)).status == 204
        below = proofs.proof("POST", parse_web_address(f"{RESOURCE}/messages/none"), TOKEN)
        headers = {**bound(below), "content-type": "application/json"}
        url = f"{site.url}/messages/none"
        assert (await site.send("POST", request("ping"), url=url, **headers)).status == 404


WRONG: dict[str, Callable[[], dict[str, str]]] = {
    "as a bearer token": lambda: {**bound(proof()), **bearer(TOKEN)},
    "without a proof": lambda: {"authorization": f"DPoP {TOKEN}"},
    "with an empty proof": lambda: bound(""),
    "with two proofs": lambda: bound(f"{proof()}, {proof()}"),
    "with the proof of another key": lambda: bound(proof(new_key())),
    "with a key that did not sign": lambda: bound(
        proof(new_key(), header={"jwk": public_jwk(KEY)})
    ),
    "for another method": lambda: bound(proof(htm="GET")),
    "for another place": lambda: bound(proof(htu="https://other.example/mcp")),
    "for a place below": lambda: bound(proof(htu=f"{RESOURCE}/more")),
    "for another token": lambda: bound(proof(ath=base64url(sha256(b"other").digest()))),
    "for no token": lambda: bound(proof(ath=None)),
    "made long ago": lambda: bound(proof(iat=int(time.time()) - 90)),
    "made later": lambda: bound(proof(iat=int(time.time()) + 90)),
    "made at no time": lambda: bound(proof(iat=None)),
    "made at a text": lambda: bound(proof(iat="now")),
    "without an id": lambda: bound(proof(jti=None)),
    "of another kind": lambda: bound(proof(header={"typ": "JWT"})),
    "of no kind": lambda: bound(proof(header={"typ": "jwt"})),
    "without a key": lambda: bound(proof(header={"jwk": None})),
    "with a private key": lambda: bound(proof(header={"jwk": {**public_jwk(KEY), "d": "AAAA"}})),
    "with a secret for a key": lambda: bound(proof(header={"jwk": {"kty": "oct", "k": "AAAA"}})),
    "with a token that is not bound": lambda: bound(proof(), "free-token"),
    "bound to what cannot be shown": lambda: bearer("mtls-token"),
}


@pytest.mark.req("M-17")
@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
async def test_a_bound_token_is_not_taken(headers: Callable[[], dict[str, str]]) -> None:
    async with serving(make_shop(), auth=protected()) as site:
        given = headers()
        answer = await site.post(initialize(), **given)
        assert answer.status == 401
        scheme = given["authorization"].partition(" ")[0]
        assert answer.headers["www-authenticate"].startswith(f'{scheme} error="invalid_token"')


@pytest.mark.req("M-17")
async def test_a_proof_is_not_taken_twice(carrier: Carrier) -> None:
    async with serving(make_shop(), carrier, auth=protected()) as site:
        once = bound(proof(htu="HTTPS://Shop.Example:443/mcp?query#fragment"))
        assert [(await site.post(initialize(), **once)).status for _ in range(2)] == [200, 401]


async def test_only_bound_tokens_are_taken_where_that_is_required() -> None:
    async with serving(make_shop(), auth=protected(dpop_required=True)) as site:
        answer = await site.post(initialize(), **bearer("free-token"))
        assert answer.status == 401
        assert answer.headers["www-authenticate"].startswith('DPoP error="invalid_token"')
        assert 'algs="ES256 ' in answer.headers["www-authenticate"]
        assert (await site.post(initialize(), **bound(proof()))).status == 200
        url = site.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        metadata = (await site.send("GET", url=url)).json
        assert metadata["dpop_bound_access_tokens_required"] is True


async def test_where_no_proof_can_be_checked_no_bound_token_is_taken() -> None:
    async with serving(make_shop(), auth=BearerAuth(TOKENS)) as site:
        for headers in (bearer(TOKEN), bound(proof()), bearer("mtls-token")):
            assert (await site.post(initialize(), **headers)).status == 401
        assert (await site.post(initialize(), **bearer("free-token"))).status == 200


def test_proofs_are_remembered_for_as_long_as_they_could_be_used() -> None:
    now = [time.time()]
    proofs = DpopProofs(now=lambda: now[0])

    def shows(made: str) -> bool:
        return proofs.shows(made, method="POST", url=RESOURCE, token=TOKEN, thumbprint=THUMBPRINT)

    late = proof(iat=int(now[0]) + 55)
    assert shows(late)
    now[0] += 100
    assert not shows(late)
    for number in range(200):
        now[0] += 10
        assert shows(proof(iat=int(now[0]), jti=str(number)))
    assert len(proofs) <= 13 < MAX_SEEN
