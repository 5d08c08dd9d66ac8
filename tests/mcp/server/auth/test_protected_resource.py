"""A server that takes the tokens of OAuth: what it publishes, and what it asks for."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from accord.mcp import Client
from accord.mcp.client.auth import OAuth
from accord.mcp.server.auth import (
    Introspection,
    JwtVerifier,
    Principal,
    ProtectedResource,
    UnavailableError,
)
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.browser import REDIRECT, Browser
from tests.mcp.client.auth.site import Answer, served
from tests.mcp.server.auth.issuer import Issuer, Key
from tests.mcp.server.auth.service import bearer, make_shop, tokens
from tests.mcp.server.http.service import ACCEPT, Carrier, initialize, request, serving
from tests.transports.asgi.service import uvicorn_serving

RESOURCE = "https://shop.example/mcp"
METADATA = "https://shop.example/.well-known/oauth-protected-resource/mcp"
TYPED = {**ACCEPT, "content-type": "application/json"}


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    site = Issuer()
    async with served(site):
        yield site


def protected(**options: Any) -> ProtectedResource:
    settings = {"resource": RESOURCE, "authorization_servers": ["https://issuer.example"]}
    return ProtectedResource(tokens(), **{**settings, **options})


def verified(issuer: Issuer, **options: Any) -> ProtectedResource:
    return ProtectedResource(JwtVerifier(issuer=issuer.url, audience=RESOURCE), **options)


# Metadata


@pytest.mark.req("M-17")
async def test_clients_are_told_where_tokens_come_from(carrier: Carrier) -> None:
    auth = protected(
        scopes=["orders:read"],
        scopes_supported=["orders:read", "orders:write"],
        name="The shop",
        documentation="https://shop.example/docs",
    )
    async with serving(make_shop(), carrier, auth=auth) as site:
        refused = await site.post(initialize())
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == (
            f'Bearer scope="orders:read", resource_metadata="{METADATA}"'
        )
        root = site.url.removesuffix("/mcp")
        for path in (
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
            "/mcp/.well-known/oauth-protected-resource",
        ):
            answer = await site.send("GET", url=root + path, origin="https://page.example")
            assert answer.status == 200
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["access-control-allow-origin"] == "*"
            assert answer.json == {
                "resource": RESOURCE,
                "authorization_servers": ["https://issuer.example"],
                "scopes_supported": ["orders:read", "orders:write"],
                "bearer_methods_supported": ["header"],
                "resource_name": "The shop",
                "resource_documentation": "https://shop.example/docs",
                "dpop_signing_alg_values_supported": answer.json[
                    "dpop_signing_alg_values_supported"
                ],
            }
            asked = {"origin": "https://page.example", "access-control-request-method": "GET"}
            preflight = await site.send("OPTIONS", url=root + path, **asked)
            assert (preflight.status, preflight.headers["access-control-allow-headers"]) == (
                204,
                "*",
            )
            head = await site.send("HEAD", url=root + path)
            assert (head.status, head.body) == (200, b"")
            assert (await site.send("POST", b"{}", url=root + path)).status == 405
        for path in ("/.well-known/oauth-protected-resource/other", "/other", "/mcp/other"):
            assert (await site.send("GET", url=root + path)).status == 404


@pytest.mark.req("M-17")
async def test_a_permission_that_is_missing_says_where_to_get_it(carrier: Carrier) -> None:
    async with serving(make_shop(), carrier, auth=protected()) as site:
        session = await site.session(**bearer("token-of-eve"))
        answer = await session.call("orders")
        assert answer.status == 403
        assert answer.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", scope="orders:read", '
            'error_description="This needs permissions that the caller does not have", '
            f'resource_metadata="{METADATA}"'
        )


async def test_a_mounted_server_has_its_metadata_below_it_and_at_the_root() -> None:
    below = f"{RESOURCE}/.well-known/oauth-protected-resource"
    for auth in (protected(metadata_url=below), protected()):
        app = Starlette(
            routes=[
                Mount("/mcp", make_shop().asgi(auth=auth)),
                Route(auth.metadata_path, auth.metadata_asgi),
            ]
        )
        async with uvicorn_serving(app) as port, serving(make_shop()) as site:
            root = f"http://127.0.0.1:{port}"
            refused = await site.send("POST", initialize(), url=f"{root}/mcp/", **TYPED)
            told = refused.headers["www-authenticate"].split('"')[1]
            assert told == auth.metadata_url
            for path in (told.removeprefix("https://shop.example"), auth.metadata_path):
                found = await site.send("GET", url=root + path)
                assert (found.status, found.json["resource"]) == (200, RESOURCE)
            allowed = await site.send(
                "POST", initialize(), url=f"{root}/mcp/", **TYPED, **bearer("token-of-ada")
            )
            assert allowed.status == 200


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        ("https://shop.example", "/.well-known/oauth-protected-resource"),
        ("https://shop.example/", "/.well-known/oauth-protected-resource"),
        ("https://SHOP.example:443/a/b", "/.well-known/oauth-protected-resource/a/b"),
        ("http://127.0.0.1:8000/mcp", "/.well-known/oauth-protected-resource/mcp"),
    ],
)
def test_metadata_is_where_the_resource_says(resource: str, path: str) -> None:
    assert protected(resource=resource).metadata_path == path


@pytest.mark.parametrize(
    "options",
    [
        {"resource": ""},
        {"resource": "shop.example/mcp"},
        {"resource": "https://shop.example/mcp#part"},
        {"resource": "https://ada@shop.example/mcp"},
        {"resource": "ftp://shop.example"},
        {"resource": "http://shop.example/mcp"},
        {"authorization_servers": []},
        {"authorization_servers": ["http://issuer.example"]},
        {"scopes_supported": ["a b"]},
        {"scopes_supported": ["orders:read", "offline_access"]},
        {"scopes": ["offline_access"]},
        {"metadata_url": "http://shop.example/metadata"},
    ],
)
def test_settings_that_clients_could_not_use_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        protected(**options)


# Signed tokens, end to end


@pytest.mark.req("M-17")
async def test_signed_tokens_are_taken_for_what_they_are(carrier: Carrier, issuer: Issuer) -> None:
    async with serving(make_shop(), carrier, auth=verified(issuer)) as site:
        good = issuer.issue(scope="orders:read")
        session = await site.session(**bearer(good))
        assert (await session.call("orders")).json["result"]["content"][0]["text"] == "your orders"
        renewed = {**session.headers, **bearer(issuer.issue(iat=int(time.time()) - 1))}
        assert (await site.post(request("ping"), **renewed)).status == 200
        stranger = {**session.headers, **bearer(issuer.issue(sub="eve"))}
        other_client = {**session.headers, **bearer(issuer.issue(client_id="other"))}
        for headers in (stranger, other_client):
            assert (await site.post(request("ping"), **headers)).status == 404
            accepting = {**headers, "accept": "text/event-stream"}
            assert (await site.send("GET", **accepting)).status == 404
            assert (await site.send("DELETE", **headers)).status == 404
        for wrong in (
            issuer.issue(aud="https://other.example/mcp"),
            issuer.issue(exp=int(time.time()) - 60),
            issuer.issue(key=Key("one")),
        ):
            answer = await site.post(request("ping"), **{**session.headers, **bearer(wrong)})
            assert answer.status == 401
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_an_issuer_that_is_gone_is_answered_503(carrier: Carrier, issuer: Issuer) -> None:
    issuer.routes.clear()
    async with serving(make_shop(), carrier, auth=verified(issuer)) as site:
        answer = await site.post(initialize(), **bearer(issuer.issue()))
        assert (answer.status, issuer.url.encode() in answer.body) == (503, False)


@pytest.mark.req("M-17")
async def test_our_client_gets_a_token_and_more_scopes_when_a_call_needs_them() -> None:
    """Discovery, registration, code, step-up: by nothing but what the server says."""
    authority, browser = Authority(), Browser()

    class Granted:
        """Looks tokens up at the authorization server that gave them."""

        def verify(self, token: str) -> Principal | None:
            scope = authority.granted.get(token)
            return (
                scope
                if scope is None
                else Principal(subject="ada", scopes=frozenset(scope.split()))
            )

    async with served(authority):
        authority.publish()
        server = make_shop()
        # The port is known once it is bound, and the resource is named by it.
        async with serving(server) as free:
            url = free.url
        auth = ProtectedResource(
            Granted(),
            resource=url,
            authorization_servers=[authority.issuer],
            scopes=["orders:read"],
        )
        oauth = OAuth(redirect=REDIRECT, redirect_handler=browser.redirected)
        async with server.serve(url, auth=auth), Client(url, auth=oauth) as client:
            assert [tool.name for tool in await client.list_tools()] == ["whoami", "orders"]
            result = await client.call_tool("order", {"what": "a lamp"})
            assert result.text == "ordered a lamp"
    assert list(authority.granted.values()) == ["orders:read", "orders:read orders:write"]


# Introspection


def introspected(by: Issuer, **options: Any) -> Introspection:
    settings = {"client_id": "shop", "client_secret": "a secret:", "audience": RESOURCE}
    return Introspection(f"{by.url}/introspect", **{**settings, **options})


async def test_an_authorization_server_is_asked_about_each_token(issuer: Issuer) -> None:
    issuer.known["opaque"] = issuer.claims(scope="orders:read")
    verifier = introspected(issuer)
    found = await _verify(verifier, "opaque")
    assert found == Principal(
        subject="ada",
        client_id="app",
        scopes=frozenset(("orders:read",)),
        claims=issuer.known["opaque"],
        expires=issuer.known["opaque"]["exp"] + 30.0,
    )
    assert await _verify(verifier, "unknown") is None
    issuer.revoked.add("opaque")
    assert await _verify(verifier, "opaque") is None


@pytest.mark.parametrize(
    "said",
    [
        {"aud": None},
        {"aud": "https://other.example"},
        {"active": "true"},
        {"active": 1},
        {"exp": 1},
        {"iss": "https://other.example"},
    ],
)
async def test_what_is_said_of_a_token_is_checked(issuer: Issuer, said: dict[str, Any]) -> None:
    issuer.known["opaque"] = {**issuer.claims(**{"active": True, **said})}
    assert await _verify(introspected(issuer, issuer=issuer.url), "opaque") is None


async def test_a_token_need_not_end_nor_name_an_audience_where_that_is_said(issuer: Issuer) -> None:
    issuer.known["opaque"] = {"sub": "ada"}
    assert await _verify(introspected(issuer), "opaque") is None
    found = await _verify(introspected(issuer, audience=None), "opaque")
    assert found == Principal(subject="ada", claims={"sub": "ada"})


async def test_answers_are_kept_for_as_long_as_was_asked(issuer: Issuer) -> None:
    now = [time.time()]
    issuer.known["opaque"] = issuer.claims()
    verifier = introspected(issuer, cache_seconds=10, now=lambda: now[0])
    assert await _verify(verifier, "opaque") == await _verify(verifier, "opaque")
    assert len(issuer.to("POST /introspect")) == 1
    issuer.revoked.add("opaque")
    now[0] += 11
    assert await _verify(verifier, "opaque") is None


async def test_an_introspection_endpoint_that_fails_is_not_the_tokens_fault(issuer: Issuer) -> None:
    with pytest.raises(UnavailableError, match="status 401"):
        await _verify(introspected(issuer, client_secret="wrong"), "opaque")
    issuer.routes["POST /introspect"] = lambda _: Answer(body=b"no")
    with pytest.raises(UnavailableError, match="JSON object"):
        await _verify(introspected(issuer), "opaque")
    with pytest.raises(ValueError, match="must be https"):
        Introspection(
            "http://issuer.example", client_id="shop", client_secret="", audience=RESOURCE
        )


async def _verify(verifier: Introspection, token: str) -> Principal | None:
    found = verifier.verify(token)
    return found if found is None or isinstance(found, Principal) else await found
