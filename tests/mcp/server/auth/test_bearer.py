"""Tokens over HTTP: who is let in, and what everybody else is told."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given, strategies

from accord.jsonrpc.protocol.errors import from_wire
from accord.mcp.server.auth import (
    BearerAuth,
    Principal,
    StaticTokens,
    UnavailableError,
)
from accord.mcp.server.auth.authenticator import (
    MalformedCredentials,
    PresentedToken,
    challenge,
    credentials_in,
    scope_of,
)
from accord.transports.http.heads import Fields, WebRequest
from tests.mcp.server.auth.service import ADA, EVE, ROOT, bearer, make_shop, tokens
from tests.mcp.server.http.service import (
    ACCEPT,
    Carrier,
    initialize,
    modern_headers,
    request,
    serving,
    with_meta,
)

TYPED = {**ACCEPT, "content-type": "application/json"}


def asking(query: str = "", **headers: str) -> WebRequest:
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return WebRequest("POST", "/mcp", "", query, Fields(pairs), 0, True)


def called(tool: str, **arguments: Any) -> tuple[dict[str, Any], dict[str, str]]:
    params = {"name": tool, "arguments": arguments}
    return request("tools/call", with_meta(params)), modern_headers("tools/call", params)


# Who is let in


@pytest.mark.req("M-17")
async def test_a_token_says_who_calls_in_both_eras(carrier: Carrier) -> None:
    async with serving(make_shop(), carrier, auth=tokens()) as site:
        for token, name in ((ADA, "ada"), (EVE, "eve")):
            body, headers = called("whoami")
            modern = await site.post(body, **headers, **bearer(token))
            session = await site.session(**bearer(token))
            old = await session.call("whoami")
            assert [it.json["result"]["content"][0]["text"] for it in (modern, old)] == [name] * 2


@pytest.mark.req("M-17")
@pytest.mark.parametrize(
    ("headers", "query", "status", "challenge"),
    [
        ({}, "", 401, "Bearer"),
        ({"authorization": "Basic YWRhOnNlY3JldA=="}, "", 401, "Bearer"),
        (bearer("guess"), "", 401, "invalid_token"),
        (bearer(ADA + "x"), "", 401, "invalid_token"),
        (bearer(ADA.upper()), "", 401, "invalid_token"),
        ({"authorization": f"DPoP {ADA}"}, "", 401, "invalid_token"),
        ({"authorization": "Bearer"}, "", 401, "Bearer"),
        ({"authorization": f"Bearer {ADA} {EVE}"}, "", 400, "invalid_request"),
        ({"authorization": f"Bearer {ADA}, Bearer {EVE}"}, "", 400, "invalid_request"),
        ({"authorization": f'Bearer token="{ADA}"'}, "", 400, "invalid_request"),
        ({"authorization": f"=,={ADA}"}, "", 400, "invalid_request"),
        ({}, f"?access_token={ADA}", 400, "invalid_request"),
        (bearer(ADA), f"?access_token={ADA}", 400, "invalid_request"),
        (bearer(ADA), f"?a=1&acce%73s_token={ADA}", 400, "invalid_request"),
    ],
)
async def test_nobody_else_is_let_in(
    carrier: Carrier, headers: dict[str, str], query: str, status: int, challenge: str
) -> None:
    async with serving(make_shop(), carrier, auth=tokens(), old_sse=True) as site:
        for method, place in (
            ("POST", ""),
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/sse"),
            ("POST", "/messages/guess"),
        ):
            body = initialize() if method == "POST" else None
            url = f"{site.url}{place}{query}"
            answer = await site.send(method, body, url=url, **{**TYPED, **headers})
            assert answer.status == status
            told = answer.headers["www-authenticate"]
            if challenge == "Bearer":
                assert told == "Bearer"
            else:
                assert told.startswith(f'Bearer error="{challenge}", error_description="')
            # Clients that find it would begin to look for an authorization server.
            assert "resource_metadata" not in told
            assert ADA not in told
            code = -32600 if status == 400 else -32051
            assert answer.error == (status, code, None)
        assert len(site.endpoint.sessions) == 0


async def test_a_client_of_the_stateless_era_gets_a_code_that_it_knows() -> None:
    async with serving(make_shop(), auth=tokens()) as site:
        body, headers = called("whoami")
        assert (await site.post(body, **headers)).error == (401, -32600, None)


async def test_there_is_no_metadata_where_there_is_no_oauth(carrier: Carrier) -> None:
    async with serving(make_shop(), carrier, auth=tokens()) as site:
        root = site.url.removesuffix("/mcp")
        for path in (
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/.well-known/openid-configuration",
            "/mcp/.well-known/oauth-protected-resource",
        ):
            assert (await site.send("GET", url=root + path)).status == 404


async def test_who_is_not_let_in_need_not_send_a_body() -> None:
    async with serving(make_shop(), auth=tokens()) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 50000000\r\n\r\n"
        )
        assert (await reader.readline()) == b"HTTP/1.1 401 Unauthorized\r\n"
        writer.close()


async def test_a_page_of_another_origin_is_told_what_is_missing() -> None:
    page = {"origin": "https://page.example"}
    async with serving(make_shop(), auth=tokens(), origins=("https://page.example",)) as site:
        answer = await site.post(initialize(), **page)
        assert answer.status == 401
        assert answer.headers["access-control-allow-origin"] == "https://page.example"
        assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]
        asked = {**page, "access-control-request-method": "POST"}
        assert (await site.send("OPTIONS", **asked)).status == 204
        evil = await site.post(initialize(), origin="https://evil.example", **bearer(ADA))
        assert evil.status == 403


@pytest.mark.parametrize("size", [16_385, 60_000])
async def test_huge_tokens_are_not_looked_at(carrier: Carrier, size: int) -> None:
    looked = []

    class Looking:
        def verify(self, token: str) -> None:
            looked.append(token)

    async with serving(make_shop(), carrier, auth=Looking()) as site:
        answer = await site.post(initialize(), **bearer("x" * size))
        assert answer.status in (400, 431)
        assert looked == []


# What may be done


@pytest.mark.req("M-17")
@pytest.mark.parametrize(
    ("token", "status", "scope"),
    [
        (EVE, 403, "orders:read orders:write"),
        (ADA, 403, "orders:read orders:write"),
        (ROOT, 200, ""),
    ],
)
async def test_all_scopes_that_a_call_needs_are_named(
    carrier: Carrier, token: str, status: int, scope: str
) -> None:
    async with serving(make_shop(), carrier, auth=tokens()) as site:
        body, headers = called("order", what="a lamp")
        modern = await site.post(body, **headers, **bearer(token))
        old = await (await site.session(**bearer(token))).call("order", what="a lamp")
        for answer, code in ((modern, -32600), (old, -32055)):
            assert answer.status == status
            if status == 200:
                assert answer.json["result"]["content"][0]["text"] == "ordered a lamp"
                assert "www-authenticate" not in answer.headers
                continue
            assert answer.error == (403, code, 1)
            assert answer.json["error"]["data"] == {
                "reason": "insufficient_permissions",
                "scopes": scope.split(),
            }
            assert answer.headers["www-authenticate"] == (
                f'Bearer error="insufficient_scope", scope="{scope}", '
                'error_description="This needs permissions that the caller does not have"'
            )


async def test_who_is_not_allowed_is_not_sent_for_more_scopes(carrier: Carrier) -> None:
    async with serving(make_shop(), carrier, auth=tokens()) as site:
        body, headers = called("close")
        answer = await site.post(body, **headers, **bearer(ADA))
        assert answer.error == (403, -32600, 1)
        assert answer.json["error"]["data"] == {"reason": "insufficient_permissions"}
        assert "www-authenticate" not in answer.headers
        assert (await site.post(body, **headers, **bearer(ROOT))).status == 200


async def test_in_a_batch_the_error_alone_tells() -> None:
    async with serving(make_shop(), auth=tokens()) as site:
        session = await site.session("2025-03-26", **bearer(EVE))
        batch = [request("ping", id=1), request("tools/call", {"name": "orders"}, id=2)]
        answer = await session.post(batch)
        assert answer.status == 200
        assert [each.get("error", {}).get("code") for each in answer.json] == [None, -32055]


async def test_everybody_needs_the_scopes_of_the_whole_server(carrier: Carrier) -> None:
    auth = BearerAuth(tokens(), scopes=["orders:read"])
    async with serving(make_shop(), carrier, auth=auth) as site:
        assert (await site.post(initialize(), **bearer(ADA))).status == 200
        missing = await site.post(initialize())
        assert missing.headers["www-authenticate"] == 'Bearer scope="orders:read"'
        refused = await site.post(initialize(), **bearer(EVE))
        assert refused.error == (403, -32055, None)
        assert (
            'error="insufficient_scope", scope="orders:read"' in refused.headers["www-authenticate"]
        )
        body, headers = called("order", what="a lamp")
        told = (await site.post(body, **headers, **bearer(ADA))).headers["www-authenticate"]
        assert 'scope="orders:read orders:write"' in told


async def test_a_broader_scope_has_the_narrower_ones_in_it() -> None:
    wide = Principal(subject="wide", scopes=frozenset(("everything",)))
    implies = {"everything": ["orders:write"], "orders:write": ["orders:read", "everything"]}
    auth = BearerAuth(StaticTokens({"wide": wide, "other": "other"}), implies=implies)
    async with serving(make_shop(), auth=auth) as site:
        body, headers = called("order", what="a lamp")
        assert (await site.post(body, **headers, **bearer("wide"))).status == 200
        assert (await site.post(body, **headers, **bearer("other"))).status == 403


@pytest.mark.req("M-17")
@pytest.mark.parametrize("modern", [True, False])
async def test_lists_show_what_may_be_called(modern: bool) -> None:
    seen = {
        ADA: (["whoami", "orders"], ["order://last"], ["order://{number}"], []),
        EVE: (["whoami"], [], [], []),
        ROOT: (
            ["whoami", "orders", "order", "close"],
            ["order://last", "till://"],
            ["order://{number}"],
            ["buy"],
        ),
    }
    shop = make_shop()

    @shop.completion("buy", "what")
    def kinds(value: str) -> list[str]:
        return ["a lamp"]

    async with serving(shop, auth=tokens()) as site:

        async def ask(token: str, method: str, **params: Any) -> Any:
            if not modern:
                return await (await site.session(**bearer(token))).request(method, **params)
            headers = {**modern_headers(method, params), **bearer(token)}
            return await site.post(request(method, with_meta(params)), **headers)

        for token, (tools, resources, templates, prompts) in seen.items():
            lists = {
                "tools/list": ("tools", "name", tools),
                "resources/list": ("resources", "uri", resources),
                "resources/templates/list": ("resourceTemplates", "uriTemplate", templates),
                "prompts/list": ("prompts", "name", prompts),
            }
            for method, (member, key, names) in lists.items():
                result = (await ask(token, method)).json["result"]
                assert [each[key] for each in result[member]] == names
                if modern:
                    assert result["cacheScope"] == "private"
            for name, arguments in (
                ("whoami", {}),
                ("orders", {}),
                ("order", {"what": "a lamp"}),
                ("close", {}),
            ):
                answer = await ask(token, "tools/call", name=name, arguments=arguments)
                assert (answer.status == 200) == (name in tools)
            for uri in ("order://last", "till://"):
                assert (await ask(token, "resources/read", uri=uri)).status == (
                    200 if uri in resources else 403
                )
            assert (await ask(token, "resources/read", uri="order://7")).status == (
                200 if templates else 403
            )
            gotten = await ask(token, "prompts/get", name="buy", arguments={"what": "a lamp"})
            assert gotten.status == (200 if prompts else 403)
            completed = await ask(
                token,
                "completion/complete",
                ref={"type": "ref/prompt", "name": "buy"},
                argument={"name": "what", "value": ""},
            )
            assert completed.status == (200 if prompts else 403)


# What goes wrong


@pytest.mark.parametrize("late", [False, True])
async def test_a_verifier_that_cannot_tell_lets_nobody_in(carrier: Carrier, late: bool) -> None:
    class Broken:
        def verify(self, token: str) -> Any:
            if late:
                return self._later()
            raise UnavailableError("the database at db.internal is gone")

        async def _later(self) -> None:
            await asyncio.sleep(0)
            raise UnavailableError("the database at db.internal is gone")

    async with serving(make_shop(), carrier, auth=Broken()) as site:
        answer = await site.post(initialize(), **bearer(ADA))
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert b"db.internal" not in answer.body


@pytest.mark.req("M-17")
async def test_a_token_that_was_revoked_opens_no_session_again(carrier: Carrier) -> None:
    valid = {ADA}

    class Revocable:
        async def verify(self, token: str) -> Principal | None:
            return Principal(subject="ada") if token in valid else None

    async with serving(make_shop(), carrier, auth=Revocable()) as site:
        session = await site.session(**bearer(ADA))
        assert (await session.request("ping")).status == 200
        valid.clear()
        assert (await session.request("ping")).status == 401
        assert (await site.send("GET", **{**session.headers, **ACCEPT})).status == 401
        assert (await session.end()).status == 401
        valid.add("renewed")
        renewed = {**session.headers, **bearer("renewed")}
        assert (await site.post(request("ping"), **renewed)).status == 200


async def test_a_token_that_has_ended_lets_nobody_in() -> None:
    auth = StaticTokens({ADA: Principal(subject="ada", expires=time.time() - 1)})
    async with serving(make_shop(), auth=auth) as site:
        assert (await site.post(initialize(), **bearer(ADA))).status == 401


@pytest.mark.req("M-17")
async def test_tokens_are_never_logged(carrier: Carrier, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    class Failing:
        def verify(self, token: str) -> Any:
            raise UnavailableError("nobody knows")

    secret = "a-secret-that-nobody-should-read"
    for auth in (StaticTokens({secret: "ada"}), Failing()):
        async with serving(make_shop(), carrier, auth=auth) as site:
            body, headers = called("order", what="a lamp")
            for credentials in (bearer(secret), bearer(secret + "x"), {"authorization": secret}):
                await site.post(body, **headers, **credentials)
            await site.send("POST", b"{", url=site.url, **TYPED, **bearer(secret))
    logged = [each for each in caplog.records if not each.name.startswith(("httpx", "httpcore"))]
    assert all(secret not in str(vars(each)) for each in logged)
    assert secret not in repr(StaticTokens({secret: "ada"}))
    assert secret not in repr(PresentedToken("bearer", secret))


@pytest.mark.req("M-17", "M-12")
async def test_two_hundred_clients_with_the_same_ids_keep_apart(carrier: Carrier) -> None:
    names = [f"user-{number}" for number in range(20)]
    auth = StaticTokens({f"token-{name}": name for name in names})
    server = make_shop()

    async def one(site: Any, number: int) -> list[str]:
        name = names[number % 20]
        credentials = bearer(f"token-{name}")
        body, headers = called("whoami")
        session = await site.session(**credentials)
        answers = await asyncio.gather(
            session.call("whoami", id=1),
            session.call("whoami", id=2),
            site.post(body, **headers, **credentials),
        )
        return [it.json["result"]["content"][0]["text"] for it in answers]

    async with serving(server, carrier, auth=auth) as site:
        site.client = httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_connections=40))
        async with site.client:
            found = await asyncio.gather(*(one(site, number) for number in range(200)))
    assert found == [[names[number % 20]] * 3 for number in range(200)]


# The parts


def test_static_tokens_are_not_kept() -> None:
    known = StaticTokens({"secret-of-ada": "ada"})
    assert known.verify("secret-of-ada") == Principal(subject="ada")
    assert known.verify("secret-of-eve") is None
    assert known.verify("") is None
    assert known.verify("\ud800") is None
    assert "secret-of-ada" not in str(vars(known))
    for wrong in ({}, {"": "ada"}, {"a b": "ada"}, {"é": "ada"}, {"a" * 16_385: "ada"}):
        with pytest.raises(ValueError, match="token"):
            StaticTokens(wrong)


@pytest.mark.parametrize("scope", ["a b", 'a"b', "", "a\nb", "a\\b", "é"])
def test_what_cannot_be_a_scope_is_refused(scope: str) -> None:
    with pytest.raises(ValueError, match="cannot be a scope"):
        BearerAuth(tokens(), scopes=[scope])


@pytest.mark.req("M-17")
@given(text=strategies.text(), more=strategies.text())
def test_nothing_gets_into_the_header_that_does_not_belong_there(text: str, more: str) -> None:
    line = challenge("Bearer", error_description=text, scope=scope_of([text, more]))
    assert line.count(b"\r\n") == 1
    assert line.endswith(b"\r\n")
    said = line[:-2].decode("ascii").removeprefix("www-authenticate: Bearer").replace("\\\\", "")
    # Quotes come in pairs once the escaped ones are gone: no text ends its own.
    assert said.replace('\\"', "").count('"') % 2 == 0
    assert said.replace("\t", "").isprintable()


async def test_a_handler_cannot_inject_headers_by_scopes() -> None:
    server = make_shop()

    @server.tool(inline=True)
    def evil() -> str:
        scopes = ["a", "b\r\nset-cookie: c=d", 'e", x="', 7, "orders:write"]
        raise from_wire(-32055, "no", {"reason": "insufficient_permissions", "scopes": scopes})

    async with serving(server, auth=tokens()) as site:
        answer = await (await site.session(**bearer(ADA))).call("evil")
        assert answer.status == 403
        assert "set-cookie" not in answer.headers
        assert 'scope="a 7 orders:write"' in answer.headers["www-authenticate"]


@given(header=strategies.text(strategies.characters(max_codepoint=255)))
def test_every_header_is_read_or_refused(header: str) -> None:
    found = credentials_in(asking(authorization=header))
    assert found is None or isinstance(found, PresentedToken | MalformedCredentials)
    if isinstance(found, PresentedToken):
        assert found.token in header


def test_answers_have_a_body_that_is_json_rpc() -> None:
    refusal = BearerAuth(tokens()).refusal(asking())
    assert refusal is not None
    assert msgspec.json.decode(refusal.body) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32051,
            "message": "A token is needed",
            "data": {"reason": "authentication_failed"},
        },
    }
