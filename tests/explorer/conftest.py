"""One browser and one library for all tests of the explorer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from accord import serve
from tests.browser import launched, program
from tests.explorer.library import DOCUMENT, library
from tests.explorer.visit import Visit, pages_for, visiting_with
from tests.node_packages import node_packages


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder `node_modules` with what package-lock.json pins."""
    return node_packages(Path(__file__).parent)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    if program() is None:
        pytest.skip("needs chromium")
    async with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def heard() -> list[Any]:
    """What notifications told the library."""
    return []


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def url(heard: list[Any]) -> AsyncIterator[str]:
    """Where the library is."""
    async with serve(
        library(heard), "http://127.0.0.1:0/rpc", pages=pages_for(DOCUMENT), drain=0.1
    ) as server:
        yield server.url


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A window for all visits that need nothing special: making one takes a while."""
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(page: Page, url: str) -> AsyncIterator[Visit]:
    """A visit by somebody who was never here."""
    try:
        async with visiting_with(page, url) as visit:
            yield visit
    finally:
        await page.evaluate("localStorage.clear(); sessionStorage.clear()")
        await page.goto("about:blank")
        await page.unroute_all(behavior="ignoreErrors")
        await page.context.clear_permissions()
        await page.context.set_offline(False)
