"""The command palette and the sheet of keys: going, finding and doing, all by keyboard."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


async def summon(page: Page, typed: str) -> None:
    """Open the palette and type; waits until what is shown answers it."""
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Search or do anything")).to_be_focused()
    await page.keyboard.type(typed)
    await expect(page.get_by_role("option", name=f"All results for “{typed}”")).to_be_visible()


async def test_what_is_typed_is_found_and_enter_opens_it(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/")
    await summon(page, "saver fares")
    chosen = page.get_by_role("option", selected=True)
    await expect(chosen).to_contain_text("Refund saver fares")
    active = await page.get_by_role("combobox").get_attribute("aria-activedescendant")
    assert active == await chosen.get_attribute("id")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{visitor.house.url}/items/REQ-026")


async def test_a_quick_enter_waits_for_the_answer(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/search")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("req-27")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{visitor.house.url}/items/REQ-027")


async def test_an_answer_that_was_overtaken_is_dropped(visitor: Visitor) -> None:
    page = visitor.page
    released = asyncio.Event()

    async def hold(route: Route) -> None:
        await released.wait()
        await route.continue_()

    await visitor.open("/keys")
    await page.route("**/palette?q=refund&*", hold)
    await page.keyboard.press("Control+k")
    words = page.get_by_role("combobox", name="Search or do anything")
    async with page.expect_request("**/palette?q=refund&*"):
        await words.fill("refund")
    await words.fill("sign out")
    await expect(page.get_by_role("option", selected=True)).to_have_text("Sign out")
    released.set()
    await page.unroute_all(behavior="wait")
    await expect(page.get_by_role("option", selected=True)).to_have_text("Sign out")
    await page.keyboard.press("Escape")
    await expect(words).to_be_hidden()


async def test_the_field_and_the_slash_open_it_too(visitor: Visitor) -> None:
    page = visitor.page
    words = page.get_by_role("combobox", name="Search or do anything")
    await visitor.open("/keys")
    await page.keyboard.press("/")
    await expect(words).to_be_focused()
    await page.keyboard.press("Escape")
    field = page.get_by_role("searchbox", name="Search or do anything")
    await field.click()
    await expect(words).to_be_focused()
    await page.keyboard.press("Escape")
    await field.focus()
    await expect(words).to_be_hidden()  # who tabs through the page is not stopped
    await page.keyboard.press("t")
    await expect(words).to_have_value("t")
    await page.mouse.click(5, 5)
    await expect(words).to_be_hidden()


async def test_it_goes_and_does(browser: Browser, house: House) -> None:
    async with visiting(browser, house, color_scheme="light") as visitor:
        page = visitor.page
        await visitor.open("/keys")
        await summon(page, "search")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{house.url}/search")
        await summon(page, "words or")  # what only this page offers
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Words or an id")).to_be_focused()
        await summon(page, "dark theme")
        await page.keyboard.press("Enter")
        await expect(page.locator("html[data-theme=dark]")).to_be_attached()
        assert visitor.path == "/search"
        await house.do("create_prompt", name="palette-prompt", content="Be kind.")
        await summon(page, "activate palette")
        await page.keyboard.press("Enter")
        await expect(page.locator(".foot .prompt")).to_contain_text("palette-prompt")


async def test_what_was_looked_at_last_is_near_until_somebody_signs_out(
    browser: Browser, house: House
) -> None:
    await house.add_person("palette-uma", "User")
    async with visiting(browser, house, "palette-uma") as visitor:
        page = visitor.page
        await visitor.open("/items/REQ-026")
        await visitor.open("/items/REQ-012")
        await page.keyboard.press("Control+k")
        recent = page.get_by_role("group", name="Recent").get_by_role("option")
        await expect(recent).to_have_text(["REQ-026Refund saver fares"])
        await recent.click()
        await page.wait_for_url(f"{house.url}/items/REQ-026")
        await summon(page, "sign out")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/sign-in")
        await page.wait_for_function("() => sessionStorage.getItem('accord-recent') === null")


async def test_everybody_can_use_it_in_the_dark_and_in_a_narrow_window(
    browser: Browser, house: House, axe: str
) -> None:
    for scheme, width in (("dark", 1440), ("light", 320)):
        async with visiting(
            browser, house, color_scheme=scheme, viewport={"width": width, "height": 820}
        ) as visitor:
            page = visitor.page
            await visitor.open("/search?q=refund")
            await summon(page, "refund")
            assert await violations(page, axe) == []
            assert await overflow(page) == []
            await page.keyboard.press("Escape")
            await page.get_by_role("link", name="all keys").click()
            await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
            assert await violations(page, axe) == []
            assert await overflow(page) == []


async def test_the_sheet_tells_the_keys_of_this_page_and_of_all(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/search?q=refund")
    await page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    await expect(sheet.get_by_role("heading", name="On this page")).to_be_visible()
    here = sheet.locator("section").first
    await expect(here.locator("dd")).to_have_text(["Move", "Open", "Words", "New"])
    await expect(sheet).to_contain_text("Command palette")
    await expect(sheet).to_contain_text("Audit log")
    await page.keyboard.press("Escape")
    await expect(sheet).to_be_hidden()


async def test_without_scripts_the_field_searches_and_keys_are_a_page(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/")
        await page.get_by_role("searchbox", name="Search or do anything").fill("refund")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name="Refund saver fares")).to_be_visible()
        await page.get_by_role("link", name="all keys").click()
        await expect(page.get_by_role("heading", name="Keys", level=1)).to_be_visible()
        await expect(page.get_by_text("Move down in a list")).to_be_visible()


async def test_nobody_is_offered_what_they_may_not_do(browser: Browser, house: House) -> None:
    await house.add_person("palette-carl", "Commenter")
    async with visiting(browser, house, "palette-carl") as visitor:
        await visitor.open("/keys")
        await summon(visitor.page, "create")
        options = visitor.page.get_by_role("option")
        await expect(options.filter(has_text="Create a token")).to_be_visible()
        assert await options.filter(has_text="Create an epic").count() == 0
        await expect(visitor.page.get_by_text("Audit log")).to_have_count(0)
