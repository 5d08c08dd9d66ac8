"""One browser for all tests of the pages, and a house for each file of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, expect

from tests.browser import launched, program
from tests.node_packages import node_packages
from tests.web.house import SECONDS, House, Visitor, housed, make


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that finds what keeps people from using a page."""
    packages = node_packages(Path(__file__).parent.parent / "explorer")
    return (packages / "axe-core" / "axe.min.js").read_text()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    if program() is None:
        pytest.skip("needs chromium")
    expect.set_options(timeout=SECONDS)
    async with launched() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of an installation with the sample project."""
    made = tmp_path_factory.mktemp("demo") / "data"
    await make(made, demo=True)
    return made


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def new_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of an installation with nothing in it."""
    made = tmp_path_factory.mktemp("new") / "data"
    await make(made, demo=False)
    return made


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def house(demo_data: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A system with the sample project, for one file of tests."""
    async with housed(
        demo_data, tmp_path_factory.mktemp("house") / "data", allow_private_agents=True
    ) as house:
        yield house


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def empty_house(
    new_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """A system with nothing in it, for one file of tests."""
    async with housed(new_data, tmp_path_factory.mktemp("house") / "data") as house:
        yield house


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def context(browser: Browser, house: House) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(viewport={"width": 1440, "height": 820})
    await house.enter(context)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(context: BrowserContext, house: House) -> AsyncIterator[Visitor]:
    """The administrator, with a page open; nothing may go wrong on it."""
    visitor = Visitor(house, await context.new_page())
    yield visitor
    await visitor.page.close()
    assert visitor.faults == []
