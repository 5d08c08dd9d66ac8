"""Home: what changed, what waits for somebody, how runs are, and what to do first."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, visiting
from tests.web.workshop import GATE, Workshop

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

FAIL = {
    "name": "breaks",
    "steps": [{"name": "find", "type": "call", "operation": "get_epic", "input": {"id": "EP-999"}}],
}


async def liven(house: House) -> None:
    """Have things happen, so that there is something to tell."""
    await house.do("update_requirement", id="REQ-012", title="Keep no numbers of cards")
    await house.do("update_requirement", id="REQ-014", status="Obsolete")
    await house.do("create_epic", title="Winter timetable", status="In Progress", assignee="admin")
    await house.do("propose_changes", reason="Shorter <b>titles</b>", steps=[_step("REQ-015")])
    await house.add_person("home-carl", "Commenter")
    await house.do("add_comment", by="home-carl", target_id="EP-009", text="Who sails on Sundays?")


def _step(id: str) -> dict[str, object]:
    return {"operation": "update_requirement", "arguments": {"id": id, "priority": 1}}


async def test_home_tells_what_changed_and_what_waits(
    browser: Browser, house: House, axe: str
) -> None:
    await liven(house)
    async with visiting(browser, house, viewport={"width": 1440, "height": 820}) as visitor:
        page = visitor.page
        await visitor.open("/")
        changes = page.locator("#changes")
        await expect(changes.get_by_role("heading", name="Today")).to_be_visible()
        edited = changes.locator("li.change", has_text="edited REQ-012")
        await expect(edited.locator("del")).to_be_visible()
        await expect(edited.locator("ins")).to_be_visible()
        await expect(changes).to_contain_text("set REQ-014 to Obsolete")
        await expect(changes).to_contain_text("commented on EP-009 Who sails on Sundays?")
        assert re.findall(r"\b[a-z]+_[a-z_]+\b", await changes.inner_text()) == []
        waits = page.locator("#waits")
        await expect(waits.get_by_role("link", name="Shorter <b>titles</b>")).to_be_visible()
        await expect(waits.get_by_role("link", name="EP-009 Winter timetable")).to_be_visible()
        await expect(waits.get_by_role("link", name="Who sails on Sundays?")).to_be_visible()
        await expect(waits.get_by_role("heading", name="Suspect links")).to_be_visible()
        assert await violations(page, axe) == []
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await expect(page.locator("[data-row]").nth(1)).to_be_focused()
        await edited.get_by_role("link", name="Undo").click()
        await page.wait_for_url(re.compile(r"/changes/[0-9a-f-]+$"))


async def test_what_happens_meanwhile_shows_up_while_somebody_looks(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house) as visitor:
        page = visitor.page
        await page.clock.install()
        await visitor.open("/")
        await page.evaluate(
            "() => Object.defineProperty(document, 'visibilityState', "
            "{configurable: true, get: () => 'hidden'})"
        )
        await house.do("create_epic", title="Seen in time")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.clock.fast_forward(60_000)
        assert asked == []
        await page.evaluate("() => { delete document.visibilityState }")
        await page.clock.fast_forward(31_000)
        await expect(page.locator("#changes")).to_contain_text("Seen in time")


async def test_more_changes_are_shown_below(browser: Browser, house: House) -> None:
    for number in range(22):
        await house.do("create_label", name=f"many {number}")
    async with visiting(browser, house) as visitor:
        page = visitor.page
        await visitor.open("/")
        rows = page.locator("li.change")
        await expect(rows).to_have_count(20)
        await page.get_by_role("link", name="Show more").click()
        await expect(page.locator("#changes")).to_contain_text("loaded the sample project")
        await expect(page.get_by_role("heading", name="Today")).to_have_count(1)
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        await visitor.open("/")
        await visitor.page.get_by_role("link", name="Show more").click()
        assert visitor.path.startswith("/changes")


async def test_runs_are_counted_and_failures_named(browser: Browser, house: House) -> None:
    workshop = Workshop(house, {})
    await workshop.save(GATE, FAIL)
    await workshop.until(await workshop.start("breaks"), "failed")
    waiting = await workshop.start("gate")
    await workshop.until(waiting, "waiting")
    async with visiting(browser, house) as visitor:
        page = visitor.page
        await visitor.open("/")
        runs = page.locator("#runs")
        await expect(runs.get_by_role("img")).to_have_attribute("aria-label", "1 waiting, 1 failed")
        await expect(runs.get_by_role("link", name="breaks")).to_be_visible()
        await page.locator("#waits").get_by_role("link", name="gate").click()
        await page.wait_for_url(f"{house.url}/runs/{waiting}")


async def test_it_fits_reads_in_the_dark_and_works_without_scripts(
    browser: Browser, house: House, axe: str
) -> None:
    await house.do("create_epic", title="W" * 500, assignee="admin", status="In Progress")
    async with visiting(
        browser, house, color_scheme="dark", viewport={"width": 320, "height": 640}
    ) as visitor:
        await visitor.open("/")
        assert await overflow(visitor.page) == []
        assert await violations(visitor.page, axe) == []
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        await visitor.open("/")
        await expect(visitor.page.locator("#changes")).to_contain_text("created")


async def test_who_may_only_comment_is_offered_nothing_else(browser: Browser, house: House) -> None:
    await house.add_person("home-cora", "Commenter")
    await house.do("create_epic", title="Not for everybody to undo")
    async with visiting(browser, house, "home-cora") as visitor:
        await visitor.open("/")
        await expect(visitor.page.locator("#changes")).to_contain_text("created")
        await expect(visitor.page.get_by_role("link", name="Undo")).to_have_count(0)
        await expect(visitor.page.get_by_role("heading", name="First steps")).to_have_count(0)


async def test_first_steps_go_away_as_they_are_done(
    browser: Browser, empty_house: House, axe: str
) -> None:
    async with visiting(browser, empty_house) as visitor:
        page = visitor.page
        await visitor.open("/")
        await expect(page.get_by_text("0 of 3 done")).to_be_visible()
        await expect(page.get_by_role("heading", name="Nothing changed yet")).to_be_visible()
        await expect(page.get_by_role("link", name="Create an epic")).to_be_visible()
        await expect(page.get_by_text("is ready: give it to Claude")).to_be_visible()
        await expect(page.get_by_role("link", name="Create a token")).to_have_count(0)
        assert await violations(page, axe) == []
        [token] = (await empty_house.do("list_tokens")).items
        await empty_house.do("revoke_token", id=token.id)
        await visitor.open("/")
        await expect(page.get_by_role("link", name="Create a token")).to_be_visible()
        await empty_house.do("create_epic", title="First")
        await visitor.open("/")
        await expect(page.get_by_text("1 of 3 done")).to_be_visible()
        await expect(page.get_by_role("link", name="Create an epic")).to_have_count(0)
        await page.get_by_role("button", name="Hide").click()
        await expect(page.get_by_role("heading", name="First steps")).to_have_count(0)
        await visitor.open("/")
        await expect(page.get_by_role("heading", name="First steps")).to_have_count(0)
