"""A real browser for tests and pictures."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

PROGRAMS = ("chromium-headless-shell", "chromium")
"""The same browser without what nobody sees takes a third less of the machine."""


def program() -> str | None:
    """The browser that is installed."""
    return next((found for each in PROGRAMS if (found := shutil.which(each))), None)


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """Chromium, as it is installed."""
    # Root has no sandbox to put a browser into.
    flags = ["--no-sandbox"] if os.getuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program(), args=flags)
        try:
            yield browser
        finally:
            await browser.close()
