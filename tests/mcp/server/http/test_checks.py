"""Who is let in: pages, hosts, media types, sizes, methods."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.protocol.channel import Limits
from accord.transports.http.replies import text_reply
from tests.mcp.server.http.service import (
    ACCEPT,
    Carrier,
    initialize,
    request,
    serving,
)
from tests.patience import PATIENCE

POST = {**ACCEPT, "content-type": "application/json"}


@pytest.mark.req("M-17")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
async def test_a_foreign_page_is_refused(carrier: Carrier, method: str) -> None:
    async with serving(carrier=carrier) as site:
        shaken = await site.session()
        body = initialize() if method == "POST" else None
        headers = {**POST, **shaken.headers, "origin": "https://evil.example"}
        answer = await site.send(method, body, **headers)
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
        assert (await shaken.request("ping")).status == 200


@pytest.mark.req("M-17")
@pytest.mark.parametrize("origin", [None, "same", "evil"])
async def test_a_foreign_name_for_the_loopback_interface_is_refused(
    carrier: Carrier, origin: str | None
) -> None:
    async with serving(carrier=carrier) as site:
        host = f"evil.example:{site.port}"
        headers = {"host": host}
        if origin is not None:
            headers["origin"] = f"http://{host}" if origin == "same" else "https://evil.example"
        assert (await site.post(initialize(), **headers)).status == 403
        own = f"localhost:{site.port}"
        assert (await site.post(initialize(), host=own, origin=f"http://{own}")).status == 200
        assert (await site.post(initialize(), host=f"[::1]:{site.port}")).status == 200
        assert (await site.post(initialize(), host="127.0.0.1")).status == 200


async def test_a_name_that_is_known_is_let_in() -> None:
    async with serving(hosts=("shop.example", "[2001:db8::1]")) as site:
        assert (await site.post(initialize(), host="shop.example")).status == 200
        assert (await site.post(initialize(), host="Shop.Example:8080")).status == 200
        assert (await site.post(initialize(), host="[2001:db8::1]:80")).status == 200
        assert (await site.post(initialize(), host="localhost")).status == 403
    async with serving(hosts=("*",)) as site:
        assert (await site.post(initialize(), host="any.example")).status == 200


async def test_pages_of_known_origins_may_ask_and_read(carrier: Carrier) -> None:
    page = "https://app.example"
    async with serving(carrier=carrier, origins=(page,)) as site:
        asked = await site.send(
            "OPTIONS",
            origin=page,
            access_control_request_method="POST",
            access_control_request_headers="content-type, mcp-session-id",
        )
        assert (asked.status, asked.body) == (204, b"")
        assert asked.headers["access-control-allow-methods"] == "POST, GET, DELETE"
        assert asked.headers["access-control-allow-headers"] == "content-type, mcp-session-id"
        answer = await site.post(initialize(), origin=page)
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == page
        assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
        assert answer.headers["vary"] == "origin"
        refused = await site.post(b"nonsense", origin=page)
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (400, page)
        wrong = await site.send("PUT", origin=page)
        assert (wrong.status, wrong.headers["access-control-allow-origin"]) == (405, page)
        assert (await site.post(initialize(), origin="https://app.example.evil")).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": ""}, 415),
        ({"content-type": "application/json; charset=utf-16"}, 415),
        ({"content-type": "application/jsonx"}, 415),
        ({"content-encoding": "gzip"}, 415),
        ({"content-type": "Application/JSON; charset=UTF-8"}, 200),
        ({"accept": "application/json"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "text/html"}, 406),
        ({"accept": "application/json, text/event-stream;q=0"}, 406),
        ({"accept": "*/*"}, 200),
        ({"accept": "application/*, text/*;q=0.5"}, 200),
        ({"accept": "text/event-stream;q=0.9, APPLICATION/JSON"}, 200),
    ],
)
async def test_media_types(headers: dict[str, str], status: int) -> None:
    async with serving() as site:
        answer = await site.post(initialize(), **headers)
        assert answer.status == status
        if status != 200:
            assert answer.json["error"]["code"] == -32600


async def test_a_client_that_takes_no_streams_cannot_listen(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        shaken = await site.session()
        answer = await site.send("GET", **{**shaken.headers, "accept": "application/json"})
        assert answer.status == 406


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS"])
async def test_other_methods_are_not_served(carrier: Carrier, method: str) -> None:
    async with serving(carrier=carrier) as site:
        answer = await site.send(method)
        assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/mcpx",
        "/mcp/nothing",
        "/mcp/sse",
        "/mcp/messages/x",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server/mcp",
    ],
)
async def test_elsewhere_is_nothing(carrier: Carrier, path: str) -> None:
    async with serving(carrier=carrier) as site:
        for method in ("GET", "POST"):
            answer = await site.send(method, url=site.url.removesuffix("/mcp") + path)
            assert answer.status == 404


async def test_pages_beside_the_endpoint(carrier: Carrier) -> None:
    pages = {"/.well-known/about": lambda asked: text_reply(200, asked.method)}
    async with serving(carrier=carrier, pages=pages) as site:
        url = site.url.removesuffix("/mcp") + "/.well-known/about"
        answer = await site.send("GET", url=url)
        assert (answer.status, answer.body) == (200, b"GET\n")


@pytest.mark.req("M-10")
@pytest.mark.parametrize(("version", "code"), [("2026-07-28", -32600), ("2025-11-25", -32012)])
async def test_a_body_that_is_too_large(carrier: Carrier, version: str, code: int) -> None:
    limits = Limits(max_message_bytes=1_000)
    async with serving(carrier=carrier, limits=limits) as site:
        body = request("tools/list", {"padding": "x" * 1_000})
        answer = await site.post(body, mcp_protocol_version=version)
        assert (answer.status, answer.json["error"]["code"]) == (413, code)
        assert answer.json["error"]["data"]["maxSize"] == 1_000

        async def pieces() -> Any:
            yield msgspec.json.encode(body)

        chunked = await site.client.post(
            site.url, content=pieces(), headers={**POST, "mcp-protocol-version": version}
        )
        assert chunked.status_code == 413
        assert (await site.post(initialize())).status == 200


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"", -32700, None),
        (b"nonsense", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc": "2.0", "id": 1', -32700, None),
        (b"7", -32600, None),
        (b'"text"', -32600, None),
        (b"{}", -32600, None),
        (b"[]", -32600, None),
        (b'{"id": 4, "method": "ping"}', -32600, 4),
        (b'{"jsonrpc": "1.0", "id": 4, "method": "ping"}', -32600, 4),
        (b'{"jsonrpc": "2.0", "id": 4}', -32600, 4),
        (b'{"jsonrpc": "2.0", "id": 4, "method": ""}', -32600, 4),
        (b'{"jsonrpc": "2.0", "id": 4, "method": 5}', -32600, 4),
        (b'{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": 5}', -32600, 4),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "result": {}}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 4, "result": {}, "error": {}}', -32600, None),
    ],
)
@pytest.mark.req("M-12")
async def test_bodies_that_are_no_messages(body: bytes, code: int, id: Any) -> None:
    async with serving() as site:
        shaken = await site.session()
        for headers in ({}, shaken.headers, {"mcp_protocol_version": "2026-07-28"}):
            assert (await site.post(body, **headers)).error == (400, code, id)
        assert (await shaken.request("ping")).status == 200


async def test_an_answer_without_a_session_has_no_place() -> None:
    async with serving() as site:
        body = {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert (await site.post(body)).status == 400
        assert (await site.post(body, mcp_protocol_version="2026-07-28")).status == 400


async def test_http_1_0_gets_its_stream_until_the_connection_ends() -> None:
    async with serving() as site:
        shaken = await site.session()
        body = msgspec.json.encode(
            request("tools/call", {"name": "report", "_meta": {"progressToken": 1}})
        )
        lines = [f"{name}: {value}" for name, value in {**POST, **shaken.headers}.items()]
        head = "\r\n".join(["POST /mcp HTTP/1.0", *lines, f"content-length: {len(body)}"])
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(head.encode() + b"\r\n\r\n" + body)
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        writer.close()
        shown, _, events = answer.partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in shown
        assert b"connection: close" in shown
        assert events.count(b"data: {") == 3
