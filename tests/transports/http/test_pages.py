"""Pages beside an endpoint of the HTTP server."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from accord import Router, serve
from accord.transports.http.admission import Rules
from accord.transports.http.replies import page_reply
from accord.transports.pages import Page, Pages, etag_of, is_unchanged
from tests.transports.http.service import Answer, RawClient, post, serving

BODY = b"<p>hello</p>"
TAG = etag_of(BODY)
HEADERS = {
    "etag": TAG,
    "content-security-policy": "default-src 'none'",
    "content-type": "text/html; charset=utf-8",
    "content-length": "12",
}


def hello() -> Page:
    return Page(
        body=BODY,
        media_type="text/html; charset=utf-8",
        etag=TAG,
        headers=(("content-security-policy", "default-src 'none'"),),
    )


def get(target: str, *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join((f"{method} {target} HTTP/1.1", "Host: x", *lines, "", "")).encode()


@pytest.mark.parametrize(
    ("path", "target"),
    [("/rpc", "/rpc/a/hello"), ("/", "/a/hello"), ("/rpc/", "/rpc/a/hello")],
)
async def test_a_page_is_below_the_endpoint(path: str, target: str) -> None:
    url = f"http://127.0.0.1:0{path}"
    async with serving(url=url, pages={"a/hello": hello}) as site, site.client() as client:
        assert await client.ask(get(target)) == Answer(200, HEADERS, BODY)
        assert await client.ask(get(f"{target}?v=1")) == Answer(200, HEADERS, BODY)
        client.send(get(target, method="HEAD"))
        assert await client.answer(head_only=True) == Answer(200, HEADERS, b"")
        assert (await client.ask(post(b"hello", target=path.encode()))).outcome == (200, b"hello")
        for nothing in ("/a", "/a/hello/", "/rpc/a", "//a/hello", "/rpcs/a/hello"):
            assert (await client.ask(get(nothing))).status == 404


async def test_a_page_that_the_client_has_is_not_sent_again() -> None:
    async with serving(pages={"hello": hello}) as site, site.client() as client:
        unchanged = {"etag": TAG, "content-security-policy": "default-src 'none'"}
        for tags in (TAG, "*", f'"other", W/{TAG}'):
            found = await client.ask(get("/rpc/hello", f"If-None-Match: {tags}"))
            assert found == Answer(304, unchanged, b"")
        found = await client.ask(get("/rpc/hello", 'If-None-Match: "other"'))
        assert found == Answer(200, HEADERS, BODY)


async def test_a_page_is_made_anew_each_time() -> None:
    made: list[str] = []

    def growing() -> Page:
        made.append("x")
        return Page(body="".join(made).encode(), media_type="text/plain", status=299)

    async with serving(pages={"growing": growing}) as site, site.client() as client:
        for body in (b"x", b"xx"):
            assert (await client.ask(get("/rpc/growing"))).outcome == (299, body)
    assert not is_unchanged(growing(), "*")


async def test_a_page_is_read_not_written() -> None:
    async with serving(pages={"hello": hello}) as site, site.client() as client:
        answer = await client.ask(post(b"hello", target=b"/rpc/hello"))
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
        answer = await client.ask(get("/rpc/hello", "Origin: https://evil.example"))
        assert answer.status == 403
        answer = await client.ask(get("/rpc"))
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
        assert (await client.ask(post(b"on"))).outcome == (200, b"on")


async def test_requests_with_a_body_and_pipelined_ones_are_kept_apart() -> None:
    async with serving(pages={"hello": hello}) as site, site.client() as client:
        with_body = post(b"ignored", target=b"/rpc/hello", method=b"GET")
        client.send(with_body + post(b"one") + get("/rpc/hello") + post(b"two"))
        answers = [await client.answer() for _ in range(4)]
        assert [answer.body for answer in answers] == [BODY, b"one", BODY, b"two"]
        client.send(get("/rpc/hello", "Connection: close"))
        assert (await client.answer()).headers["connection"] == "close"
        assert await client.rest() == b""


async def test_a_page_that_fails_is_an_error_of_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> Page:
        raise LookupError("a secret")

    async with serving(pages={"broken": broken}) as site, site.client() as client:
        answer = await client.ask(get("/rpc/broken"))
        assert answer.outcome == (500, b"This page could not be made\n")
        assert (await client.ask(post(b"on"))).outcome == (200, b"on")
    assert [line.getMessage() for line in caplog.records] == ["the page broken could not be made"]


def test_heads_of_pages_are_not_remembered() -> None:
    rules = Rules(path="/rpc", max_body=None, origins=None, loopback=False, pages={"hello": hello})
    rules.judge(get("/rpc/hello"))
    assert rules.known == {}
    rules.judge(get("/rpc", "Content-Type: application/json", method="POST"))
    assert len(rules.known) == 1


@pytest.mark.parametrize("name", ["content-length", "Connection", "", "a b"])
def test_a_page_cannot_have_any_header(name: str) -> None:
    page = Page(body=b"", media_type="text/plain", headers=((name, "1"),))
    with pytest.raises(ValueError, match="header"):
        page_reply(page, None)


async def test_pages_over_tls(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    pages: Pages = {"hello": hello}
    async with serve(Router(), "https://localhost:0/rpc", tls=server_tls, pages=pages) as server:
        port = int(server.url.rsplit(":", 1)[1].split("/")[0])
        client = RawClient(*await asyncio.open_connection("localhost", port, ssl=client_tls))
        assert await client.ask(get("/rpc/hello")) == Answer(200, HEADERS, BODY)
        await client.close()
