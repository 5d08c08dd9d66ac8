"""What nobody well-meaning sends, byte by byte over a socket: never a 5xx, never a dead server."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.operations.adapters.shop import Shop
from tests.patience import PATIENCE

TARGETS = [
    *("/api/v1/pens/../../rpc", "/api/v1/pens/%2e%2e%2f", "/api/v1/pens/..;/x", "/api/v1/%"),
    *("/api/v1/pens/%", "/api/v1/pens/%C0%AF", "/api/v1/pens/%25%32%46", "/api/v1//pens"),
    *("/api/v1/pens?%", "/api/v1/pens?=", "/api/v1/pens?limit", "/api/v1/pens?limit=%31%00"),
    *("/api/v1/pens?limit=1;cursor=2", "/api/v1/pens?&&&&", "/api/v1/pens?cursor=%F0%28%8C%28"),
    *(
        "/api/v1/found?" + "tags=a&" * 2_000,
        "/api/v1/found?" + "&".join(f"n{i}=1" for i in range(900)),
    ),
    *("/api/v1/" + "a/" * 5_000, "/api/v1/pens/" + "x" * 10_000, "/api/v1/pens/" + "%41" * 3_000),
    *("/api/v1/pens/1' OR '1'='1".replace(" ", "%20"), "/api/v1/pens?cursor='%20OR%201=1--"),
    *("/api/v1/pens/%7Bid%7D", "/api/v1/pens/{id}", "/api/v1/pens/%0D%0ASet-Cookie:%20x=1"),
    *("/api/v1?x=1", "/api/v1/openapi.json?x=1", "/api/v1/openapi.json/", "/api/v1/OPENAPI.json"),
]


class Line:
    """One connection."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    async def ask(self, head: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the whole answer to a request."""
        parts = urlsplit(self._shop.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            writer.write(head.encode("latin-1") + body)
            await writer.drain()
            answer = await asyncio.wait_for(reader.read(), PATIENCE)
        finally:
            writer.close()
            await writer.wait_closed()
        return int(answer.split(b" ", 2)[1]), answer

    def head(self, verb: str, target: str, *lines: str) -> str:
        own = [
            "host: 127.0.0.1",
            f"authorization: Bearer {self._shop.token}",
            "connection: close",
        ]
        return "\r\n".join([f"{verb} {target} HTTP/1.1", *own, *lines, "", ""])


@pytest.mark.parametrize("verb", ["GET", "DELETE", "HEAD"])
async def test_naughty_targets_are_refused_or_name_nothing(local: Shop, verb: str) -> None:
    line = Line(local)
    for target in TARGETS:
        status, answer = await line.ask(line.head(verb, target))
        assert 200 <= status < 500, (target[:80], answer[:200])
        assert b"Set-Cookie: x=1\r\n" not in answer.partition(b"\r\n\r\n")[0]
    assert (await local.get("/pens")).status_code == 200


async def test_what_is_said_twice_decides_nothing(local: Shop) -> None:
    line = Line(local)
    kind = "content-type: application/json"
    body = b'{"id": "a", "title": "t"}'
    length = f"content-length: {len(body)}"
    for lines, expected in (
        ((kind, kind, length), 400),
        ((kind, length, length), 400),
        ((kind, length, "transfer-encoding: chunked"), 400),
        ((kind, length, 'if-match: "1"', 'if-match: "2"'), 400),
        ((kind, length, "idempotency-key: a", "idempotency-key: b"), 422),
        ((kind, length, "x-correlation-id: a", "x-correlation-id: b"), 201),
    ):
        status, answer = await line.ask(line.head("POST", "/api/v1/pens", *lines), body)
        assert status == expected, (lines, answer)
        await local.delete("/pens/a")


async def test_broken_bytes_in_headers_reach_no_answer(local: Shop) -> None:
    line = Line(local)
    for name in ("x-correlation-id", "traceparent", "user-agent", "cookie", "if-match", "origin"):
        for value in ("\xff\xfe", "%0d%0aX-Evil: 1", "<script>", "\x80" * 900, "a\tb"):
            status, answer = await line.ask(line.head("GET", "/api/v1/pens", f"{name}: {value}"))
            assert 200 <= status < 500, (name, value, answer)
            assert value.encode("latin-1") not in answer, (name, value)


async def test_half_a_body_is_waited_for_and_nothing_is_done(local: Shop) -> None:
    parts = urlsplit(local.url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    line = Line(local)
    head = line.head(
        "POST", "/api/v1/pens", "content-type: application/json", "content-length: 1000"
    )
    writer.write(head.encode() + b'{"id": "a"')
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await local.get("/pens")).json()["total"] == 0


async def test_a_write_is_finished_when_its_caller_has_gone(local: Shop) -> None:
    told = asyncio.Event()
    local.runner.listen(lambda outcome, caller, name: told.set())
    parts = urlsplit(local.url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    body = b'{"id": "a", "title": "t"}'
    line = Line(local)
    head = line.head(
        "POST", "/api/v1/pens", "content-type: application/json", f"content-length: {len(body)}"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    writer.transport.abort()
    await asyncio.wait_for(told.wait(), PATIENCE)
    assert (await local.get("/pens/a")).status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        *(
            "' OR 1=1 --",
            "%s %d {0} ${x}",
            "\u202eevil",
            "\ufeff",
            "\U0001f4a9" * 50,
            "a\u0301" * 30,
        ),
        *("\u0001\u001f\u007f", "\r\nX: 1", "<img src=x onerror=alert(1)>", "=1+1", "\\u0000"),
    ],
)
async def test_naughty_texts_are_kept_as_they_are(shop: Shop, text: str) -> None:
    text = text[:64]
    made = await shop.pen(text, text)
    assert made.status_code == 201, made.text
    read = await shop.client.get(made.headers["location"])
    assert (read.json()["id"], read.json()["title"]) == (text, text)
