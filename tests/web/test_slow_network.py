"""On a slow network a page never shows one item and names another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Route, expect

from tests.web.house import Visitor

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-51")]


class Slow:
    """Holds the details of items back until each is let go."""

    def __init__(self) -> None:
        self._gates: dict[str, asyncio.Event] = {}
        self._asked: dict[str, asyncio.Event] = {}

    def _of(self, events: dict[str, asyncio.Event], name: str) -> asyncio.Event:
        return events.setdefault(name, asyncio.Event())

    async def hold(self, route: Route) -> None:
        if "hx-request" not in route.request.headers:
            await route.continue_()
            return
        name = route.request.url.rpartition("/")[2].partition("?")[0]
        self._of(self._asked, name).set()
        await self._of(self._gates, name).wait()
        try:
            await route.continue_()
        except Exception:
            return

    async def asked(self, name: str) -> None:
        await self._of(self._asked, name).wait()

    def let_go(self, name: str) -> None:
        self._of(self._gates, name).set()

    def let_all_go(self) -> None:
        for name in self._asked:
            self.let_go(name)


@asynccontextmanager
async def slow(page: Page) -> AsyncIterator[Slow]:
    held = Slow()
    await page.route("**/items/**", held.hold)
    yield held
    held.let_all_go()
    await page.unroute("**/items/**")


def forgive_given_up_requests(visitor: Visitor) -> None:
    """Forget what htmx and the browser log of requests that were given up or not answered."""
    given_up = ("console: htmx:", "console: Failed to load resource: net::ERR_INTERNET")
    visitor.faults[:] = [each for each in visitor.faults if not each.startswith(given_up)]


async def shown(page: Page) -> set[str]:
    """The items that address, title, way, tree and detail are about."""
    found = await page.evaluate(
        """() => [
            location.pathname.split("/")[2],
            document.title.split(" ")[0],
            document.querySelector("#way strong").textContent,
            document.querySelector("#tree .row.selected").dataset.id,
            document.querySelector("#detail .meta").textContent.trim().split(" ")[0],
            document.querySelector('#detail [data-key="e"]').getAttribute("href").split("/")[2],
        ]"""
    )
    return set(found)


async def test_everything_changes_together_when_the_detail_is_here(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-002")
    async with slow(page) as network:
        await page.locator("#row-REQ-001 a.to").click()
        await network.asked("REQ-001")
        assert await shown(page) == {"REQ-002"}
        await expect(page.locator("#detail")).to_have_attribute("aria-busy", "true")
        assert await shown(page) == {"REQ-002"}
        network.let_go("REQ-001")
        await expect(page.locator("#detail .meta")).to_contain_text("REQ-001")
        assert await shown(page) == {"REQ-001"}
        await expect(page.locator("#detail")).not_to_have_attribute("aria-busy", "true")


async def test_the_item_chosen_last_is_shown_whichever_answer_comes_first(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-002")
    async with slow(page) as network:
        await page.locator("#row-REQ-001 a.to").click()
        await network.asked("REQ-001")
        await page.locator("#row-REQ-003 a.to").click()
        await network.asked("REQ-003")
        network.let_go("REQ-003")
        await expect(page.locator("#detail .meta")).to_contain_text("REQ-003")
        network.let_go("REQ-001")
        await page.wait_for_load_state("networkidle")
        assert await shown(page) == {"REQ-003"}
        await page.go_back()
        await network.asked("REQ-002")
        network.let_go("REQ-002")
        await expect(page.locator("#detail .meta")).to_contain_text("REQ-002")
        assert await shown(page) == {"REQ-002"}
    forgive_given_up_requests(visitor)


async def test_a_later_part_of_one_item_does_not_replace_another(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-002")
    async with slow(page) as network:
        await page.get_by_role("link", name="Edit", exact=False).first.click()
        await network.asked("edit")
        await page.locator("#row-REQ-003 a.to").click()
        await network.asked("REQ-003")
        network.let_go("REQ-003")
        await expect(page.locator("#detail .meta")).to_contain_text("REQ-003")
        network.let_go("edit")
        await page.wait_for_load_state("networkidle")
        assert await shown(page) == {"REQ-003"}
    forgive_given_up_requests(visitor)


async def test_a_lost_connection_changes_nothing(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-002")
    await page.context.set_offline(True)
    await page.locator("#row-REQ-001 a.to").click()
    await expect(page.get_by_text("The server does not answer.")).to_be_visible()
    assert await shown(page) == {"REQ-002"}
    await page.context.set_offline(False)
    await page.locator("#row-REQ-001 a.to").click()
    await expect(page.locator("#detail .meta")).to_contain_text("REQ-001")
    assert await shown(page) == {"REQ-001"}
    forgive_given_up_requests(visitor)
