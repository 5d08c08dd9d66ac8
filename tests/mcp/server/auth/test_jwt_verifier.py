"""Signed tokens: which are taken, and what has been tried to have others taken."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import sys
import time
from collections.abc import AsyncIterator
from inspect import isawaitable
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given, strategies
from jwt.algorithms import ECAlgorithm

from accord.mcp.server.auth import JwtVerifier, Principal, UnavailableError, Verifier
from accord.mcp.server.auth.authenticator import ExpectedClaims, principal_of
from accord.mcp.server.auth.issuers import ALGORITHMS, load_jwt, read_key
from tests.mcp.client.auth.site import Answer, served
from tests.mcp.server.auth.issuer import RESOURCE, Issuer, Key

ISSUER = "https://issuer.example"
NOW = int(time.time())


async def verify(verifier: Verifier, token: str) -> Principal | None:
    found = verifier.verify(token)
    return await found if isawaitable(found) else found


def verifier_of(*keys: Key, **options: Any) -> JwtVerifier:
    settings = {"issuer": ISSUER, "audience": RESOURCE, "jwks": [key.jwk for key in keys]}
    return JwtVerifier(**{**settings, **options})


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    site = Issuer()
    async with served(site):
        yield site


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_token_is_somebodys(algorithm: str) -> None:
    key = Key.of("one", algorithm)
    claims = Issuer().claims(scope="read write", scp=["more"])
    token = key.sign(claims)
    principal = await verify(verifier_of(key), token)
    assert principal == Principal(
        subject="ada",
        client_id="app",
        scopes=frozenset(("read", "write", "more")),
        claims=claims,
        expires=claims["exp"] + 30.0,
    )
    others = [name for name in ALGORITHMS if name != algorithm]
    assert await verify(verifier_of(key, algorithms=others), token) is None


WRONG: dict[str, dict[str, Any]] = {
    "of another issuer": {"iss": "https://issuer.example.evil"},
    "of an issuer that differs by a slash": {"iss": "https://issuer.example/"},
    "of no issuer": {"iss": None},
    "for another server": {"aud": "https://other.example/mcp"},
    "for a server whose URL begins alike": {"aud": f"{RESOURCE}/more"},
    "for several others": {"aud": ["https://other.example", "https://more.example"]},
    "for nobody": {"aud": None},
    "for no text": {"aud": {"a": RESOURCE}},
    "that has ended": {"exp": NOW - 31},
    "that never ends": {"exp": None},
    "that ends at no time": {"exp": "tomorrow"},
    "that ends at true": {"exp": True},
    "that begins later": {"nbf": NOW + 60},
    "that was made later": {"iat": NOW + 60},
    "of nobody": {"sub": None, "client_id": None},
    "of a number": {"sub": 7, "client_id": None},
}


@pytest.mark.req("M-17")
@pytest.mark.parametrize("claims", WRONG.values(), ids=WRONG)
async def test_a_token_is_not_valid(claims: dict[str, Any]) -> None:
    key = Key.of("one")
    token = key.sign(Issuer().claims(**{"iat": NOW, "exp": NOW + 600, **claims}))
    assert await verify(verifier_of(key, now=lambda: NOW), token) is None


RIGHT: dict[str, dict[str, Any]] = {
    "for several servers": {"aud": ["https://other.example", RESOURCE]},
    "with a host in capitals": {"aud": "https://SHOP.example/mcp"},
    "with the usual port": {"aud": "https://shop.example:443/mcp"},
    "that ended just now": {"exp": NOW - 5},
    "that begins in a moment": {"nbf": NOW + 5},
    "of a client alone": {"sub": None},
    "with fractions of seconds": {"exp": NOW + 9.5},
}


@pytest.mark.parametrize("claims", RIGHT.values(), ids=RIGHT)
async def test_a_token_is_valid(claims: dict[str, Any]) -> None:
    key = Key.of("one")
    token = key.sign(Issuer().claims(**{"iat": NOW, "exp": NOW + 600, **claims}))
    principal = await verify(verifier_of(key, now=lambda: NOW), token)
    assert principal is not None
    assert principal.subject == ("client app" if "sub" in claims else "ada")


async def test_a_root_is_the_same_with_and_without_its_slash() -> None:
    key = Key.of("one")
    for one, other in (("", "/"), ("/", "")):
        verifier = verifier_of(key, audience=f"https://shop.example{one}")
        token = key.sign(Issuer().claims(aud=f"https://shop.example{other}"))
        assert await verify(verifier, token) is not None


def _segment(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _forged(header: dict[str, Any], secret: bytes | None = None) -> str:
    signed = f"{_segment(header)}.{_segment(Issuer().claims())}"
    if secret is None:
        return f"{signed}."
    digest = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@pytest.mark.req("M-17")
async def test_no_algorithm_is_confused_with_another() -> None:
    key = Key.of("one", "RS256")
    verifier = verifier_of(key)
    pem = key.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for none in ("none", "None", "NONE", "nOnE", ""):
        assert await verify(verifier, _forged({"alg": none, "kid": "one"})) is None
    # The public key as the secret of an HMAC: in PEM, in DER, as a JWK.
    for secret in (pem, pem.strip(), msgspec.json.encode(key.public), b""):
        assert await verify(verifier, _forged({"alg": "HS256", "kid": "one"}, secret)) is None
    # A key of one kind is not used with the algorithms of another.
    elliptic = Key.of("one", "ES256")
    assert await verify(verifier, elliptic.sign(Issuer().claims())) is None
    # A key that the token brings along is nobody's.
    own = Key("one", "RS256").sign(Issuer().claims(), jwk=Key("one", "RS256").jwk)
    assert await verify(verifier, own) is None


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"]},
        {"b64": True},
        {"typ": "dpop+jwt"},
        {"typ": "logout+jwt"},
        {"kid": "unknown"},
        {"kid": 7},
    ],
)
async def test_a_token_of_another_kind_is_not_valid(header: dict[str, Any]) -> None:
    key = Key.of("one")
    head = _segment({"alg": "ES256", "kid": "one", "typ": "at+jwt", **header})
    signed = f"{head}.{_segment(Issuer().claims())}"
    algorithm = ECAlgorithm(ECAlgorithm.SHA256)
    signature = base64.urlsafe_b64encode(algorithm.sign(signed.encode(), key.private))
    token = f"{signed}.{signature.rstrip(b'=').decode()}"
    assert await verify(verifier_of(key), token) is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "e30.e30.e30",
        "e30.e30",
        "W10.e30.AA",
        "x" * 16_000,
        "\ud800.é.é",
    ],
)
async def test_what_is_no_token_is_not_valid(token: str) -> None:
    assert await verify(verifier_of(Key.of("one")), token) is None


async def test_a_token_that_was_changed_is_not_valid() -> None:
    key = Key.of("one")
    head, body, signature = key.sign(Issuer().claims()).split(".")
    other = _segment(Issuer().claims(sub="eve"))
    for token in (
        f"{head}.{other}.{signature}",
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{body}.",
        f"{head}.{body}.{signature}.{signature}",
    ):
        assert await verify(verifier_of(key), token) is None


async def test_a_payload_that_is_no_object_is_not_valid() -> None:
    key = Key.of("one")
    for payload in (b"[]", b"7", b"\xff", b"[" * 5_000):
        token = jwt.PyJWS().encode(payload, key.private, algorithm="ES256")
        assert await verify(verifier_of(key), token) is None


async def test_a_token_that_names_no_key_is_tried_with_those_that_suit() -> None:
    keys = [Key.of("one", "RS256"), Key.of("one"), Key.of("two")]
    token = Key.of("two").sign(Issuer().claims(), kid=None)
    assert await verify(verifier_of(*keys), token) is not None
    assert await verify(verifier_of(*keys[:2]), token) is None


async def test_a_token_that_was_verified_ends_in_time() -> None:
    now = [time.time()]
    key = Key.of("one")
    verifier = verifier_of(key, now=lambda: now[0], leeway=0)
    token = key.sign(Issuer().claims(exp=int(now[0]) + 20))
    first = await verify(verifier, token)
    assert await verify(verifier, token) is first is not None
    now[0] += 21
    assert await verify(verifier, token) is None


# Keys that are fetched


def _remote(issuer: Issuer, **options: Any) -> JwtVerifier:
    jwks = f"{issuer.url}/keys"
    return JwtVerifier(**{"issuer": issuer.url, "audience": RESOURCE, "jwks": jwks, **options})


async def test_keys_are_fetched_once_for_all_who_wait(issuer: Issuer) -> None:
    verifier = _remote(issuer)
    tokens = [issuer.issue(sub=f"user {number}") for number in range(50)]
    found = await asyncio.gather(*(verify(verifier, token) for token in tokens))
    assert [each and each.subject for each in found] == [f"user {it}" for it in range(50)]
    assert issuer.fetches == 1


async def test_keys_are_found_by_the_metadata_of_the_issuer(issuer: Issuer) -> None:
    verifier = _remote(issuer, jwks=None)
    assert await verify(verifier, issuer.issue()) is not None
    assert issuer.places == ["GET /.well-known/oauth-authorization-server", "GET /keys"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://other.example", "jwks_uri": "http://127.0.0.1:1/keys"},
        {"jwks_uri": "http://127.0.0.1:1/keys"},
        {"issuer": "URL"},
        {"issuer": "URL", "jwks_uri": "http://keys.example/keys"},
        {"issuer": "URL", "jwks_uri": 7},
        [],
    ],
)
async def test_metadata_of_another_issuer_is_not_believed(issuer: Issuer, metadata: Any) -> None:
    if isinstance(metadata, dict) and metadata.get("issuer") == "URL":
        metadata = {**metadata, "issuer": issuer.url}
    issuer.routes["GET /.well-known/oauth-authorization-server"] = lambda _: Answer(json=metadata)
    with pytest.raises(UnavailableError):
        await verify(_remote(issuer, jwks=None), issuer.issue())
    assert issuer.fetches == 0


@pytest.mark.req("M-17")
async def test_a_new_key_is_fetched_and_an_unknown_one_not_for_ever(issuer: Issuer) -> None:
    now = [time.time()]
    verifier = _remote(issuer, now=lambda: now[0])
    assert await verify(verifier, issuer.issue()) is not None
    issuer.key = Key.of("two")
    assert await verify(verifier, issuer.issue()) is None
    for number in range(20):
        assert await verify(verifier, issuer.issue(header={"kid": f"made up {number}"})) is None
    assert issuer.fetches == 1
    now[0] += 10
    assert await verify(verifier, issuer.issue()) is not None
    assert issuer.fetches == 2


async def test_a_key_that_was_withdrawn_is_missed_in_time(issuer: Issuer) -> None:
    now = [time.time()]
    verifier = _remote(issuer, now=lambda: now[0], cache_seconds=600)
    token = issuer.issue(exp=int(now[0]) + 3_600)
    assert await verify(verifier, token) is not None
    issuer.key = Key.of("two")
    now[0] += 600
    assert await verify(verifier, token) is None


async def test_an_issuer_that_does_not_answer_is_not_the_tokens_fault(issuer: Issuer) -> None:
    answers: list[Answer] = [
        Answer(500),
        Answer(302, headers={"location": "/elsewhere"}),
        Answer(body=b"not JSON"),
        Answer(json={"keys": []}),
        Answer(json={"keys": "none"}),
        Answer(body=b" " * (512 * 1024 + 1)),
        Answer(json={"keys": [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA"}, 7, None]}),
    ]
    for answer in answers:
        issuer.routes["GET /keys"] = lambda _, answer=answer: answer  # type: ignore[misc]
        verifier = _remote(issuer)
        fetches = issuer.fetches
        for _ in range(5):
            with pytest.raises(UnavailableError):
                await verify(verifier, issuer.issue())
        assert issuer.fetches == fetches + 1


async def test_known_keys_are_used_while_an_issuer_does_not_answer(issuer: Issuer) -> None:
    now = [time.time()]
    verifier = _remote(issuer, now=lambda: now[0])
    assert await verify(verifier, issuer.issue()) is not None
    issuer.routes["GET /keys"] = lambda _: Answer(503)
    now[0] += 3_601
    assert await verify(verifier, issuer.issue(exp=int(now[0]) + 60)) is not None
    assert issuer.fetches == 2
    now[0] += 86_400
    with pytest.raises(UnavailableError):
        await verify(verifier, issuer.issue(exp=int(now[0]) + 60))


async def test_whoever_leaves_does_not_take_the_keys_from_others(issuer: Issuer) -> None:
    verifier = _remote(issuer)
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(_: Any) -> Answer:
        asked.set()
        await go.wait()
        return Answer(json={"keys": [issuer.key.jwk]})

    issuer.routes["GET /keys"] = slow
    one, two = (asyncio.ensure_future(verify(verifier, issuer.issue())) for _ in range(2))
    await asked.wait()
    one.cancel()
    await asyncio.wait([one])
    go.set()
    assert await two is not None


# Settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithms": ["none"]}, "tokens cannot be verified by none"),
        ({"algorithms": ["ES256", "HS256"]}, "tokens cannot be verified by HS256"),
        ({"algorithms": []}, "tokens cannot be verified by no algorithm"),
        ({"issuer": ""}, "name both"),
        ({"audience": ""}, "name both"),
        ({"audience": []}, "name both"),
        ({"jwks": "http://issuer.example/keys"}, "must be https"),
        ({"jwks": "file:///etc/passwd"}, "needs a scheme and a host"),
        ({"jwks": None, "issuer": "http://issuer.example"}, "must be https"),
        ({"jwks": []}, "none that signatures can be checked with"),
        ({"jwks": [{"kty": "oct", "k": "c2VjcmV0"}]}, "none that signatures"),
    ],
)
def test_settings_that_would_let_anybody_in_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        verifier_of(Key.of("one"), **options)


def test_keys_that_cannot_be_used_are_passed_over() -> None:
    good = Key.of("one").jwk
    for change in (
        {"use": "enc"},
        {"alg": "RS256"},
        {"alg": "HS256"},
        {"crv": "P-384"},
        {"crv": "secp256k1"},
        {"x": ""},
        {"x": 7},
        {"x": "AAAA"},
        {"kty": "oct"},
    ):
        assert read_key({**good, **change}) is None, change
    small = {"kty": "RSA", "e": "AQAB", "n": base64.urlsafe_b64encode(b"\xff" * 128).decode()}
    assert read_key(small) is None


def test_without_its_packages_a_verifier_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_jwt.cache_clear()
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(ImportError, match=r"install accord\[auth\]"):
        JwtVerifier(issuer=ISSUER, audience=RESOURCE)
    monkeypatch.undo()
    load_jwt.cache_clear()


JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.floats()
    | strategies.text(max_size=20),
    lambda inner: strategies.lists(inner, max_size=4)
    | strategies.dictionaries(strategies.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
NAMES = ("iss", "aud", "sub", "exp", "nbf", "iat", "scope", "scp", "client_id", "azp", "cnf")


@given(claims=strategies.dictionaries(strategies.sampled_from(NAMES), JSON))
def test_no_claims_break_the_check(claims: dict[str, Any]) -> None:
    expected = ExpectedClaims(issuer="i", audience=frozenset(("a",)), leeway=0)
    found = principal_of(claims, expected, 1_000.0)
    if found is not None:
        assert claims["iss"] == "i"
        assert claims["exp"] > 1_000
        assert all(isinstance(scope, str) for scope in found.scopes)
