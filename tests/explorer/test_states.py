"""When there is nothing to show, or nothing can be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, Route, expect

from accord import Router, serve
from accord.openrpc.explorer import explorer_pages
from accord.transports.pages import Page
from tests.explorer.visit import Visit, json_page, lines, pages_for, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


def text_page(body: bytes, status: int = 200) -> Callable[[], Page]:
    return lambda: Page(body=body, media_type="text/plain", status=status)


@pytest.mark.parametrize(
    ("page", "title", "reason"),
    [
        (None, "could not be loaded", "The server answered HTTP 404."),
        (text_page(b"no", 403), "could not be loaded", "The server does not hand it out (HTTP 403). Log in, and try again."),
        (text_page(b"<html>"), "cannot be read", "It is no JSON. Unexpected <html> at line 1, column 1."),
        (text_page(b"[]"), "cannot be read", "It is not a JSON object."),
        (text_page(b"{}"), "cannot be read", "It has no member “openrpc” with the version of OpenRPC."),
        (text_page(b"[" * 100_000), "cannot be read", "It is no JSON. More than 256 levels of nesting at line 1, column 257."),
    ],
    ids=["missing", "forbidden", "html", "array", "empty", "deep"],
)  # fmt: skip
async def test_a_description_that_cannot_be_had_is_explained(
    browser: Browser, page: Callable[[], Page] | None, title: str, reason: str
) -> None:
    pages = dict(explorer_pages()) | ({} if page is None else {"openrpc.json": page})
    async with (
        serve(Router(), "http://127.0.0.1:0/rpc", pages=pages) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.page.goto(f"{server.url}/explore")
        await visit.page.wait_for_selector("#boot h1")
        assert await lines(visit.page.locator("#boot")) == [
            f"The API's description {title}",
            reason,
            "It should be an OpenRPC document at openrpc.json.",
            "Try again",
        ]
        visit.faults.clear()  # the browser logs each status from 400 on


async def test_trying_again_helps_when_the_server_is_back(visit: Visit) -> None:
    async def fail(route: Route) -> None:
        await route.abort()

    await visit.page.route("**/openrpc.json", fail)
    await visit.page.goto(f"{visit.url}/explore#/method/books.get")
    boot = visit.page.locator("#boot")
    await expect(boot).to_contain_text("Nothing answered: the server is down or out of reach.")
    await visit.page.unroute("**/openrpc.json", fail)
    await visit.button("Try again").click()
    await visit.shows("books.get")
    visit.faults.clear()  # the browser logs the first try


EMPTY: dict[str, Any] = {
    "openrpc": "1.3.2",
    "info": {"title": "Nothing", "version": "0"},
    "methods": [],
}


async def test_an_api_without_methods_says_what_to_do(browser: Browser) -> None:
    async with (
        serve(Router(), "http://127.0.0.1:0/rpc", pages=pages_for(EMPTY)) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open()
        assert await lines(visit.page.locator("#method .empty")) == [
            "No methods yet",
            "The API's description lists none. Register a method with the router, and load this page again.",
        ]
        assert await visit.page.locator("#list").inner_text() == (
            "The API's description lists no methods."
        )


async def test_without_javascript_the_document_is_linked(browser: Browser, url: str) -> None:
    async with visiting(browser, url, java_script_enabled=False) as visit:
        await visit.page.goto(f"{url}/explore")
        notice = visit.page.locator("noscript .notice")
        assert "needs JavaScript" in await notice.inner_text()
        assert await notice.locator("a").get_attribute("href") == "openrpc.json"


async def test_a_script_that_is_stopped_is_explained(browser: Browser, url: str) -> None:
    """As by a proxy that sends a policy of its own."""
    async with visiting(browser, url) as visit:
        await visit.page.route("**/main.js", lambda route: route.abort())
        await visit.page.goto(f"{url}/explore")
        stuck = visit.page.locator(".boot-stuck")
        assert not await stuck.is_visible()
        await visit.page.evaluate("for (const each of document.getAnimations()) each.finish()")
        assert "The explorer did not start" in await stuck.inner_text()
        visit.faults.clear()


async def test_a_thousand_methods_are_listed_at_once(browser: Browser) -> None:
    methods = [{"name": f"group{n % 20}.method{n}", "params": []} for n in range(1000)]
    async with (
        serve(
            Router(), "http://127.0.0.1:0/rpc", pages=pages_for({**EMPTY, "methods": methods})
        ) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open()
        assert await visit.page.locator("#list a").count() == 1000
        await visit.page.fill("#search", "method999")
        assert await visit.methods() == ["group19.method999"]


async def test_a_changed_document_is_seen_on_the_next_visit(browser: Browser) -> None:
    document = dict(EMPTY)
    pages = {**explorer_pages(), "openrpc.json": lambda: json_page(msgspec.json.encode(document))}
    async with (
        serve(Router(), "http://127.0.0.1:0/rpc", pages=pages) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open()
        document["methods"] = [{"name": "new", "params": []}]
        await visit.open()
        assert await visit.methods() == ["new"]
