"""A real browser for tests and pictures."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

PROGRAM = "chromium"


def is_installed() -> bool:
    return shutil.which(PROGRAM) is not None


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """Chromium, as it is installed."""
    # Root has no sandbox to put a browser into.
    flags = ["--no-sandbox"] if os.getuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which(PROGRAM), args=flags
        )
        try:
            yield browser
        finally:
            await browser.close()
