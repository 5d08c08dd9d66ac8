"""Takes the pictures of the explorer in docs/pictures, in a real browser.

python -m tools.explorer_pictures [FOLDER]
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser

from accord import serve
from tests.browser import launched, program
from tests.explorer.library import DOCUMENT, library
from tests.explorer.visit import Visit, pages_for, visiting

FOLDER: Final = Path(__file__).parent.parent / "docs" / "pictures"
WINDOW: Final = {"width": 1280, "height": 800}


async def a_call(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("1")
    await visit.send()
    await visit.page.locator("summary", has_text="As code").click()


async def a_batch(visit: Visit) -> None:
    await visit.open("books.get")
    for number in ("1", "99"):
        await visit.control("id").fill(number)
        await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")
    await visit.page.click("#send-batch")
    await visit.verdict()


PICTURES: Final[dict[str, tuple[str, Callable[[Visit], Awaitable[None]]]]] = {
    "explorer-light.png": ("light", a_call),
    "explorer-dark.png": ("dark", a_batch),
}


async def main(folder: Path) -> None:
    if program() is None:
        sys.exit("chromium is not installed; tools/install-programs installs it")
    heard: list[Any] = []
    pages = pages_for(DOCUMENT)
    async with (
        serve(library(heard), "http://127.0.0.1:0/rpc", pages=pages) as server,
        launched() as browser,
    ):
        for name, (scheme, scene) in PICTURES.items():
            await take(browser, server.url, folder / name, scheme, scene)


async def take(
    browser: Browser,
    url: str,
    path: Path,
    scheme: str,
    scene: Callable[[Visit], Awaitable[None]],
) -> None:
    async with visiting(browser, url, viewport=WINDOW, color_scheme=scheme) as visit:
        await scene(visit)
        picture = await visit.page.screenshot(path=path)
        print(f"{path.name}: {len(picture):,} bytes")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
