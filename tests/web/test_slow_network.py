"""On a slow network a page never shows one item and names another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Page, Route, expect

from tests.web.house import House, Visitor
from tests.web.workshop import GATE, workshop

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


async def test_going_back_leaves_no_use_of_the_item_that_is_left(visitor: Visitor) -> None:
    """The browser changes the address at once; until the detail follows, its keys do nothing."""
    page = visitor.page
    await visitor.open("/items/REQ-002")
    await page.locator("#row-REQ-001 a.to").click()
    await expect(page.locator("#detail .meta")).to_contain_text("REQ-001")
    async with slow(page) as network:
        await page.go_back()
        await network.asked("REQ-002")
        await page.keyboard.press("e")
        network.let_go("edit")
        network.let_go("REQ-002")
        await expect(page.locator("#detail .meta")).to_contain_text("REQ-002")
        assert await shown(page) == {"REQ-002"}
    assert visitor.path == "/items/REQ-002"


async def test_the_page_is_held_while_the_browser_loads_it_again(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-002")
    await page.get_by_role("link", name="History", exact=False).first.click()
    await page.wait_for_url("**/items/REQ-002/history")
    await page.locator("#row-REQ-001 a.to").click()
    await expect(page.locator("#detail .meta")).to_contain_text("REQ-001")
    gate = asyncio.Event()

    async def hold(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await page.route("**/items/REQ-002/history", hold)
    # Locators wait for the navigation, so they cannot look at a page that is being left.
    assert await page.evaluate(
        """() => new Promise((done) => {
            addEventListener("popstate", () => done(document.getElementById("detail").inert));
            history.back();
        })"""
    )
    gate.set()
    await expect(page.get_by_role("link", name="Back to REQ-002")).to_be_visible()
    await page.unroute("**/items/REQ-002/history", hold)


RUN = {"name": "two", "steps": [{"name": "rest", "type": "wait", "for": 0}, *GATE["steps"]]}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def run(house: House) -> str:
    """A run of two steps, the second of which waits."""
    async with workshop(house) as shop:
        await shop.save(RUN)
        id = await shop.start("two")
        await shop.until(id, "waiting")
    return id


async def test_a_step_of_a_run_is_shown_together_with_its_address(
    visitor: Visitor, run: str
) -> None:
    page, id = visitor.page, run
    await visitor.open(f"/runs/{id}?step=ok")
    panel = page.locator("#run-step")
    marked = page.locator("#run-timeline a[aria-current]")
    gates = {"rest": asyncio.Event(), "ok": asyncio.Event()}
    asked = {"rest": asyncio.Event(), "ok": asyncio.Event()}

    async def hold(route: Route) -> None:
        step = route.request.url.rpartition("=")[2]
        if "hx-request" not in route.request.headers or step not in gates:
            await route.continue_()
            return
        asked[step].set()
        await gates[step].wait()
        try:
            await route.continue_()
        except Exception:
            return

    async def shows(step: str) -> None:
        await expect(panel.get_by_role("heading", level=2)).to_have_text(step)
        await expect(marked.locator(".cut")).to_have_text(step)
        assert visitor.path == f"/runs/{id}?step={step}"

    gates["ok"].set()
    await page.route("**/runs/*?step=*", hold)
    await page.locator("#run-timeline").get_by_role("link", name="rest").click()
    await asked["rest"].wait()
    await expect(panel).to_have_attribute("aria-busy", "true")
    await shows("ok")
    gates["rest"].set()
    await shows("rest")
    await expect(panel).not_to_have_attribute("aria-busy", "true")
    gates["ok"].clear()
    asked["ok"].clear()
    await page.evaluate("history.back()")
    await asked["ok"].wait()
    assert await panel.evaluate("(panel) => panel.inert")
    gates["ok"].set()
    await shows("ok")
    assert not await panel.evaluate("(panel) => panel.inert")
    await page.unroute("**/runs/*?step=*", hold)


async def test_a_step_that_cannot_be_loaded_changes_nothing(visitor: Visitor, run: str) -> None:
    page, id = visitor.page, run
    await visitor.open(f"/runs/{id}?step=ok")
    await page.route("**/runs/*?step=rest", lambda route: route.abort())
    await page.locator("#run-timeline").get_by_role("link", name="rest").click()
    await expect(page.get_by_text("The server does not answer.")).to_be_visible()
    assert visitor.path == f"/runs/{id}?step=ok"
    await expect(page.locator("#run-step").get_by_role("heading", level=2)).to_have_text("ok")
    await page.unroute("**/runs/*?step=rest")
    visitor.faults[:] = [each for each in visitor.faults if "net::ERR_FAILED" not in each]


async def test_another_step_is_shown_while_text_is_marked(visitor: Visitor, run: str) -> None:
    page, id = visitor.page, run
    await visitor.open(f"/runs/{id}?step=ok")
    panel = page.locator("#run-step")
    await panel.get_by_role("heading", level=2).evaluate(
        "(heading) => getSelection().selectAllChildren(heading)"
    )
    await page.keyboard.press("k")
    await expect(panel.get_by_role("heading", level=2)).to_have_text("rest")


async def test_results_of_a_search_say_that_they_are_loading(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/search?q=refund")
    gate = asyncio.Event()

    async def hold(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await page.route("**/search?q=gate*", hold)
    await page.locator("#search-words").fill("gate")
    await expect(page.locator("#found")).to_have_attribute("aria-busy", "true")
    assert visitor.path == "/search?q=refund"
    gate.set()
    await page.wait_for_url("**/search?q=gate*")
    await expect(page.locator("#found")).not_to_have_attribute("aria-busy", "true")
    await page.unroute("**/search?q=gate*", hold)
