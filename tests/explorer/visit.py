"""A visit to the explorer in a browser: where to click, what to see, and what must not happen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import msgspec
from playwright.async_api import Browser, Locator, Page, expect

from accord.openrpc.explorer import explorer_pages
from accord.transports.pages import Page as Shown, Pages
from tests.browser import Watched

SECONDS = 10_000.0
"""How many milliseconds something may take to appear."""


def json_page(body: bytes) -> Shown:
    return Shown(body=body, media_type="application/json")


def pages_for(document: Any) -> Pages:
    """The explorer, and a document for it to show."""
    body = msgspec.json.encode(document)
    return {**explorer_pages(), "openrpc.json": lambda: json_page(body)}


class Visit(Watched):
    """A page with the explorer."""

    def __init__(self, page: Page, url: str) -> None:
        super().__init__(page, "/".join(url.split("/")[:3]), patience=SECONDS)
        self.url = url
        """Where the endpoint is."""

    async def open(self, method: str = "", query: str = "") -> None:
        """Load the page, at a method of it."""
        hash = f"#/method/{quote(method, safe='')}{query}" if method else ""
        await self.page.goto("about:blank")
        await self.page.goto(f"{self.url}/explore{hash}")
        await self.page.wait_for_selector("#frame:not([hidden])")

    async def go(self, method: str) -> None:
        """Choose a method on the page as it is."""
        await self.page.locator(f'#list [data-method="{method}"]').click()
        await self.chose(method)

    def field(self, path: str) -> Locator:
        """The field of a parameter, or of something inside one: `book/title`."""
        return self.page.locator(f'#side [data-path="/{path}"]').last

    def control(self, path: str) -> Locator:
        return self.field(path).locator("input, textarea, select").first

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def params(self) -> str:
        """The params as the JSON editor has them; the form is shown again."""
        await self.button("JSON").click()
        text = await self.page.input_value("#params")
        await self.button("Form").click()
        return text

    async def write_params(self, text: str) -> None:
        await self.button("JSON").click()
        await self.page.fill("#params", text)

    async def send(self) -> str:
        """Send, and wait for the answer; gives how it went in a word."""
        await self.page.click("#send")
        return await self.verdict()

    async def verdict(self) -> str:
        return await self.page.locator("#side .answer-head .chip").inner_text()

    async def answer(self) -> str:
        return await self.page.locator("#side .answer-body").inner_text()

    async def result(self) -> Any:
        return msgspec.json.decode(await self.page.locator("#side .answer pre").first.inner_text())

    async def problems(self) -> list[str]:
        """All that is said to be wrong with the params."""
        shown = self.page.locator("#side .problem:visible")
        return [text for text in await shown.all_inner_texts() if text]

    async def code(self, language: str) -> str:
        if not await self.page.locator("#side .part[open] .segmented").count():
            await self.page.locator("#side summary", has_text="As code").click()
        await self.button(language).click()
        return await self.page.locator("#side .part[open] pre").inner_text()

    async def methods(self) -> list[str]:
        """The methods in the list at the left."""
        return await self.page.locator("#list .list-name").all_inner_texts()

    async def shows(self, title: str) -> None:
        """Wait until this is what the page is about."""
        await expect(
            self.page.locator("#method h1 > span, #method h1:not(:has(span))")
        ).to_have_text(title)

    async def chose(self, method: str) -> None:
        """Wait until this method is the one that is marked in the list."""
        await expect(self.page.locator("#list [aria-current=page] .list-name")).to_have_text(method)


async def lines(shown: Locator) -> list[str]:
    """The lines of text that something shows."""
    return [line for line in (await shown.inner_text()).split("\n") if line]


@asynccontextmanager
async def visiting(browser: Browser, url: str, **options: Any) -> AsyncIterator[Visit]:
    """A visit with a browser window of its own."""
    context = await browser.new_context(**options)
    try:
        async with visiting_with(await context.new_page(), url) as visit:
            yield visit
    finally:
        await context.close()


@asynccontextmanager
async def visiting_with(page: Page, url: str) -> AsyncIterator[Visit]:
    """A visit on which nothing may go wrong that its `faults` are not rid of."""
    visit = Visit(page, url)
    yield visit
    visit.leave()
    assert visit.faults == []
