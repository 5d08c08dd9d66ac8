"""Where nothing could be fetched from npm, pages work by whole page loads."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, expect

from accord.app.site import SystemSite
from accord.transports.http.server import listen_web
from accord.transports.options import Options
from accord.transports.sockets import close_listener
from accord.web.app import WebPages
from accord.web.pages import PAGES
from accord.web.responses import HTMX, Assets
from tests.web.house import House

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


@asynccontextmanager
async def served_plain(house: House, folder: Path) -> AsyncIterator[str]:
    """The pages of a house, with assets that lack htmx; gives where they are."""
    with as_file(files("accord.web") / "static") as static:
        shutil.copytree(static, folder, ignore=shutil.ignore_patterns("vendor"))
    local = house.system.runtime
    assets = Assets(folder)
    assert HTMX not in assets
    pages = WebPages(local.runner, local.accounts, PAGES, assets=assets)
    site = SystemSite({"": pages})
    listener = await listen_web("http://127.0.0.1:0/", site, Options())
    try:
        yield listener.url.rstrip("/")
    finally:
        await close_listener(listener, site.close(0))


async def test_pages_work_without_htmx(browser: Browser, house: House, tmp_path: Path) -> None:
    async with served_plain(house, tmp_path / "static") as url:
        context = await _signed_in(browser, house, url)
        page = await context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda message: faults.append(message.text) if message.type == "error" else None,
        )
        await page.goto(f"{url}/search")
        await page.get_by_label("Words or an id").fill("refund")
        await page.locator("#field-kind").click()
        await page.get_by_role("checkbox", name="Requirement").check()
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_role("link", name="Refund flexible fares")).to_be_visible()
        await page.keyboard.press("Control+k")
        await page.keyboard.type("home")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Waits for you")).to_be_visible()
        await page.goto(f"{url}/requirements")
        await expect(page.get_by_text("EP-001").first).to_be_visible()
        await page.goto(f"{url}/items/REQ-012")
        await expect(page.get_by_text("REQ-012").first).to_be_visible()
        assert faults == []
        await context.close()


async def _signed_in(browser: Browser, house: House, url: str) -> BrowserContext:
    context = await browser.new_context()
    await context.add_cookies(
        [{"name": "accord_session", "value": await house.session(), "url": url}]
    )
    return context
