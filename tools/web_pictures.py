"""Takes the pictures of the pages in docs/pictures, in a real browser, of the sample project.

python -m tools.web_pictures [NAME…]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from playwright.async_api import Browser

from tests.browser import is_installed, launched
from tests.web.house import Visitor, housed, make, visiting

FOLDER: Final = Path(__file__).parent.parent / "docs" / "pictures"
WINDOW: Final = {"width": 1440, "height": 820}

Scene: TypeAlias = Callable[[Visitor], Awaitable[None]]
"""Opens a page of the sample project and does what is to be seen on it."""


def page(path: str) -> Scene:
    """A page as it opens."""

    async def scene(visitor: Visitor) -> None:
        await visitor.open(path)

    return scene


PICTURES: Final[dict[str, Scene]] = {
    "home": page("/"),
}
"""By name: `home` becomes web-home.png. Each is taken of a house of its own, so that none sees what
another one did."""


async def main(names: Sequence[str]) -> None:
    if not is_installed():
        sys.exit("chromium is not installed; tools/install-programs installs it")
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.exit(f"no picture is called {unknown[0]}; there are: {', '.join(PICTURES)}")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        await make(made, demo=True)
        async with launched() as browser:
            for name in names or PICTURES:
                await take(browser, made, Path(folder) / name, name)


async def take(browser: Browser, made: Path, data: Path, name: str) -> None:
    async with (
        housed(made, data, allow_private_agents=True) as house,
        visiting(browser, house, viewport=WINDOW, color_scheme="light") as visitor,
    ):
        await PICTURES[name](visitor)
        await visitor.page.wait_for_load_state("networkidle")
        path = FOLDER / f"web-{name}.png"
        picture = await visitor.page.screenshot(path=path)
        print(f"{path.name}: {len(picture):,} bytes")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
