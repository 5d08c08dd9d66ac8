"""What the system does with large bodies of people whom it does not know: it does not read them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import Struct

from accord.app.settings import Settings
from accord.app.system import System, open_system, prepare
from accord.operations.auth.credentials import make_token
from accord.web.pages import PAGES
from tests.transports.http.service import Answer, RawClient

ANNOUNCED = 3_000_000
"""How long the bodies are said to be, of which only the beginning comes."""
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
UNKNOWN = make_token("pat")
SESSION = make_token("ses")


class Known(Struct):
    system: System
    token: str


@asynccontextmanager
async def system_on(url: str, folder: Path, **more: Any) -> AsyncIterator[Known]:
    """The system, and the token of its administrator."""
    settings = Settings(
        data=str(folder / "data"),
        database=url if url.startswith("postgres") else "",
        secret_key="5" * 64 if url.startswith("postgres") else "",
        port=0,
        log_level="error",
        **{"rate_limit": 0, **more},
    )
    first = await prepare(settings)
    assert first is not None
    async with open_system(settings) as system:
        yield Known(system, first.token)


@asynccontextmanager
async def client_of(system: System) -> AsyncIterator[RawClient]:
    port = urlsplit(system.url).port
    client = RawClient(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield client
    finally:
        await client.close()


def head(verb: str, path: str, kind: str, *lines: str) -> bytes:
    return "\r\n".join(
        [
            f"{verb} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Content-Type: {kind}",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {ANNOUNCED}",
            *lines,
            "",
            "",
        ]
    ).encode()


async def answer_to(system: System, request: bytes) -> Answer:
    """What is answered while the body is still to come."""
    async with client_of(system) as client:
        return await client.ask(request + b"x" * 1000)


async def rest_routes(system: System) -> list[tuple[str, str]]:
    """Every verb and path over REST that takes a body."""
    async with client_of(system) as client:
        asked = await client.ask(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    document = json.loads(asked.body)
    root = document["servers"][0]["url"]
    return [
        (verb.upper(), root + re.sub(r"\{\w+\}", "X-1", path))
        for path, verbs in document["paths"].items()
        for verb, operation in verbs.items()
        if isinstance(operation, dict) and "requestBody" in operation
    ]


def form_routes() -> Iterator[tuple[str, bool]]:
    """Every path that takes a form, and whether anybody may send it."""
    for pages in PAGES:
        for route in pages:
            if route.verb == "POST":
                yield re.sub(r"\{\w+\}", "X-1", route.path), route.is_public


@pytest.mark.req("H-40")
async def test_credentials_are_checked_before_a_body_is_read(
    migrated_url: str, tmp_path: Path
) -> None:
    async with system_on(migrated_url, tmp_path) as known:
        system = known.system
        routes = await rest_routes(system)
        assert len(routes) > 40
        places = [*routes, ("POST", "/rpc"), ("POST", "/a2a"), ("POST", "/api/v1/mcp")]
        for verb, path in places:
            expected = 413 if path == "/api/v1/sessions" else 401
            for credentials in ((), (f"Authorization: Bearer {UNKNOWN}",)):
                told = await answer_to(system, head(verb, path, JSON, *credentials))
                assert (path, told.status) == (path, expected)
        hook = "/api/v1/webhooks/any"
        stale = f"Accord-Signature: t=1,v1={'0' * 64}"
        for lines in ((), (stale,)):
            short = head("POST", hook, JSON, *lines).replace(b"3000000", b"1000000")
            assert (await answer_to(system, short)).status == 403
        assert (await answer_to(system, head("POST", hook, JSON))).status == 413
        assert system.listener.buffered_bytes == 0


@pytest.mark.req("H-40")
async def test_forms_of_nobody_are_small_and_others_are_not_read(
    migrated_url: str, tmp_path: Path
) -> None:
    async with system_on(migrated_url, tmp_path) as known:
        system = known.system
        forms = dict(form_routes())
        assert {path for path, public in forms.items() if public} == {"/sign-in", "/theme"}
        for path, public in forms.items():
            for lines in ((), (f"Cookie: accord_session={SESSION}",)):
                told = await answer_to(system, head("POST", path, FORM, *lines))
                if public:
                    assert (path, told.status) == (path, 413)
                else:
                    assert (path, told.status, told.headers["location"]) == (path, 303, "/sign-in")


@pytest.mark.req("H-40")
@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/sign-in", "/", "/.well-known/agent-card.json"]
)
async def test_requests_without_a_use_for_a_body_have_none_read(
    migrated_url: str, tmp_path: Path, path: str
) -> None:
    async with system_on(migrated_url, tmp_path) as known:
        system = known.system
        assert (await answer_to(system, head("GET", path, FORM))).status == 413


@pytest.mark.req("H-40")
async def test_a_refusal_before_the_body_counts_as_any_other(
    migrated_url: str, tmp_path: Path
) -> None:
    limits = {"rate_limit": 60, "rate_burst": 100, "rate_store": "memory"}
    async with system_on(migrated_url, tmp_path, **limits) as known:
        system = known.system
        wrong = head("POST", "/api/v1/epics", JSON, f"Authorization: Bearer {UNKNOWN}")
        told = [(await answer_to(system, wrong)).status for _ in range(12)]
        assert told[:9] == [401] * 9
        assert 429 in told[9:]
        async with client_of(system) as client:
            page = await client.ask(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        failures = f'operation="authenticate",reason="unknown"}} {told.count(401)}\n'
        assert failures.encode() in page.body


@pytest.mark.req("H-41")
@pytest.mark.parametrize(
    "lines",
    [
        ("Authorization:",),
        ("Authorization: Bearer",),
        ("Authorization: Bearer ",),
        ("authorization: bearer",),
        ("Authorization: Basic YWRtaW46YWRtaW4=",),
        ("Authorization: Bearer a, Bearer b",),
        ("Authorization: Bearer a", "Authorization: Bearer b"),
        ("Authorization: Bearer", f"Cookie: accord_session={SESSION}"),
    ],
)
async def test_credentials_that_are_none_are_answered_401_everywhere(
    migrated_url: str, tmp_path: Path, lines: tuple[str, ...]
) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    async with system_on(migrated_url, tmp_path) as known:
        for path in ("/api/v1/epics", "/rpc", "/a2a", "/api/v1/mcp"):
            request = head("POST", path, JSON, *lines).replace(b"3000000", b"%d" % len(body))
            async with client_of(known.system) as client:
                told = await client.ask(request + body)
            assert (path, told.status) == (path, 401)
            assert told.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.req("H-40")
async def test_somebody_who_is_known_may_send_as_much_as_ever(
    migrated_url: str, tmp_path: Path
) -> None:
    async with system_on(migrated_url, tmp_path) as known:
        system = known.system
        bearer = f"Authorization: Bearer {known.token}"
        body = json.dumps({"title": "Large", "description": " " * 200_000 + "."}).encode()
        async with client_of(system) as client:
            for path in ("/api/v1/epics", "/rpc", "/a2a", "/api/v1/mcp"):
                request = head("POST", path, JSON, bearer, "Expect: 100-continue")
                client.send(request.replace(b"3000000", b"%d" % len(body)))
                assert (await client.answer()).status == 100
                client.send(body)
                assert (await client.answer()).status in (200, 201, 400, 403, 422)
