"""A real browser for tests and pictures."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    async_playwright,
)

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


class Watched:
    """A page of one server, and everything that went wrong on it."""

    def __init__(self, page: Page, origin: str, *, patience: float) -> None:
        """`origin` is where its requests may go; `patience` is how many milliseconds something
        may take to appear."""
        self.page = page
        self.faults: list[str] = []
        """Console errors, exceptions, breaches of the policy, requests to somewhere else."""
        self._origin = origin
        page.set_default_timeout(patience)
        self._press = page.keyboard.press
        page.keyboard.press = self._press_when_loaded  # type: ignore[method-assign]
        page.on("pageerror", self._break)
        page.on("console", self._hear)
        page.on("request", self._see)

    def leave(self) -> None:
        """Stop listening: the page may be visited again."""
        self.page.remove_listener("pageerror", self._break)
        self.page.remove_listener("console", self._hear)
        self.page.remove_listener("request", self._see)

    async def _press_when_loaded(self, key: str, *, delay: float | None = None) -> None:
        """Press a key once the scripts of the page have run: before, nothing listens to keys."""
        await self.page.wait_for_load_state()
        await self._press(key, delay=delay)

    def _break(self, error: Error) -> None:
        self.faults.append(f"exception: {error}")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _see(self, request: Request) -> None:
        if not request.url.startswith((f"{self._origin}/", "data:", "about:", "blob:")):
            self.faults.append(f"request: {request.url}")
