"""The tree of requirements: opened in pieces, walked by keys, kept open, filtered."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

WIDE = {"width": 1440, "height": 820}
LONG = "Unbreakable" * 45


def row(page: Page, id: str) -> Locator:
    return page.locator(f"#row-{id}")


def twisty(page: Page, id: str) -> Locator:
    return page.get_by_role("link", name=f"What is under {id}", exact=True)


async def focused(page: Page) -> str:
    """The row that has the focus."""
    found: str = await page.evaluate("document.activeElement.closest('.row')?.dataset.id ?? ''")
    return found


async def test_the_tree_opens_in_place_and_shows_an_item_beside_it(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/requirements")
    await expect(page.locator("#tree > li")).to_have_count(8)
    await expect(row(page, "US-001")).to_have_count(0)
    await twisty(page, "EP-001").click()
    await twisty(page, "US-001").click()
    await row(page, "REQ-004").click()
    await page.wait_for_url(f"{visitor.house.url}/items/REQ-004")
    detail = page.locator("#detail")
    await expect(detail.get_by_role("heading", name="Offer the nearest sailings")).to_be_visible()
    await expect(page.locator("#way")).to_have_text("EP-001 / US-001 / REQ-004")
    await expect(page.locator("#tree [aria-current]")).to_have_attribute("href", "/items/REQ-004")
    await expect(page).to_have_title("REQ-004 Offer the nearest sailings · Accord")
    await row(page, "REQ-005").click()
    await expect(detail.get_by_role("heading", name="Remember the last route")).to_be_visible()
    await page.go_back()
    await expect(detail.get_by_role("heading", name="Offer the nearest sailings")).to_be_visible()
    await twisty(page, "US-001").click()
    await expect(row(page, "REQ-004")).to_be_hidden()


async def test_what_is_open_stays_open_from_page_to_page(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/requirements?open=EP-003")
    await expect(twisty(page, "EP-003")).to_have_attribute("aria-expanded", "true")
    await twisty(page, "EP-002").click()
    await expect(row(page, "US-006")).to_be_visible()
    await visitor.open("/export")
    await visitor.open("/items/US-020")
    await expect(row(page, "US-006")).to_be_visible()
    await expect(twisty(page, "EP-003")).to_have_attribute("aria-expanded", "true")
    await expect(page.locator("#tree .selected")).to_have_attribute("id", "row-US-020")
    await twisty(page, "EP-002").click()
    await page.reload()
    await expect(twisty(page, "EP-002")).to_have_attribute("aria-expanded", "false")


async def test_the_tree_is_walked_by_keys_alone(browser: Browser, house: House) -> None:
    async with visiting(browser, house, viewport=WIDE) as visitor:
        page = visitor.page
        await visitor.open("/requirements")
        await page.keyboard.press("j")
        assert await focused(page) == "EP-001"
        await page.keyboard.press("ArrowRight")
        await expect(row(page, "US-001")).to_be_visible()
        await page.keyboard.press("ArrowRight")
        assert await focused(page) == "US-001"
        await page.keyboard.press("j")
        await page.keyboard.press("k")
        await page.keyboard.press("ArrowDown")
        assert await focused(page) == "US-002"
        await page.keyboard.press("Enter")
        await expect(page.locator("#detail h1")).to_have_text("Reserve seats and deck space")
        await page.keyboard.press("ArrowLeft")
        assert await focused(page) == "EP-001"
        await page.keyboard.press("ArrowLeft")
        await expect(row(page, "US-002")).to_be_hidden()
        await page.keyboard.press("ArrowDown")
        assert await focused(page) == "EP-002"
        await page.keyboard.press("c")
        await page.wait_for_url("**/new?parent=EP-002")
        await expect(page.get_by_label("Title")).to_be_focused()
        await expect(page.get_by_label("Epic")).to_have_value("EP-002")


async def test_a_filter_keeps_the_way_to_what_matches(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/requirements")
    await page.keyboard.press("f")
    obsolete = page.get_by_role("checkbox", name="Obsolete")
    await expect(page.get_by_role("checkbox", name="Backlog")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(obsolete).to_be_hidden()
    await page.keyboard.press("f")
    await obsolete.check()
    await page.get_by_role("button", name="Show").click()
    await page.wait_for_url("**/requirements?status=Obsolete*")
    shown = page.locator("#tree .row:not(.aside)")
    await expect(shown.first).to_be_visible()
    assert set(await shown.locator(".chip").all_inner_texts()) <= {"Obsolete", "Suspect"}
    top = page.locator("#tree > li")
    assert 0 < await top.count() < 8
    await expect(top.first.locator(".row").first).to_have_class("row aside")
    await top.first.locator(".twisty").first.click()
    await expect(top.first.locator("li").first).to_be_hidden()
    await visitor.open("/requirements?status=Done&assignee=admin")
    await expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    await visitor.open("/requirements?q=refund+fares&status=Active")
    await page.wait_for_url("**/search?q=refund+fares&status=Active")


@pytest.mark.req("H-57")
async def test_a_filter_takes_several_values_and_nobody(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.house.do("update_requirement", id="REQ-001", status="Obsolete", assignee=None)
    await visitor.open("/requirements")
    await page.keyboard.press("f")
    for name in ("Obsolete", "Cancelled", "Nobody"):
        await page.get_by_role("checkbox", name=name).check()
    await page.get_by_role("button", name="Show").click()
    await page.wait_for_url("**?status=Cancelled&status=Obsolete&assignee=unassigned*")
    shown = page.locator("#tree .row:not(.aside)")
    await expect(shown.first).to_be_visible()
    assert "REQ-001" in "".join(await shown.all_inner_texts())
    assert set(await shown.locator(".chip").all_inner_texts()) <= {
        "Obsolete",
        "Cancelled",
        "Suspect",
    }
    summary = page.locator("details.filter summary")
    await expect(summary).to_contain_text("Cancelled, Obsolete, Nobody")
    await summary.click()
    await expect(page.get_by_role("checkbox", name="Nobody")).to_be_checked()


async def test_everything_works_without_scripts(browser: Browser, house: House) -> None:
    async with visiting(browser, house, java_script_enabled=False, viewport=WIDE) as visitor:
        page = visitor.page
        await visitor.open("/requirements")
        await twisty(page, "EP-001").click()
        await twisty(page, "US-001").click()
        assert visitor.path == "/requirements?open=EP-001,US-001"
        await twisty(page, "EP-002").click()
        await row(page, "REQ-001").locator(".to").click()
        await expect(page.locator("#detail h1")).to_have_text("List sailings of a day")
        await expect(row(page, "REQ-002")).to_be_visible()
        await twisty(page, "EP-003").click()
        assert visitor.path == "/items/REQ-001?open=EP-003"
        await twisty(page, "EP-001").click()
        assert visitor.path == "/requirements?open=EP-003"
        await expect(row(page, "US-001")).to_have_count(0)


async def test_everybody_can_use_the_tree(browser: Browser, house: House, axe: str) -> None:
    await house.do("create_epic", title=LONG)
    async with visiting(browser, house, color_scheme="dark", viewport=WIDE) as visitor:
        await visitor.open("/requirements?open=EP-001,US-001&select=1")
        assert await violations(visitor.page, axe) == []
        assert await overflow(visitor.page) == []
    async with visiting(browser, house, viewport={"width": 320, "height": 640}) as visitor:
        page = visitor.page
        await visitor.open("/requirements?open=EP-001,US-001&select=1")
        await expect(page.locator("#detail")).to_be_hidden()
        assert await violations(page, axe) == []
        assert await overflow(page) == []
        await page.locator("#row-REQ-001 .to").click()
        await expect(page.locator("#detail h1")).to_have_text("List sailings of a day")
        await expect(page.locator("#left")).to_be_hidden()
        assert await overflow(page) == []


async def test_who_only_reads_is_offered_nothing_else(browser: Browser, house: House) -> None:
    await house.add_person("reader", "Commenter")
    async with visiting(browser, house, "reader", viewport=WIDE) as visitor:
        page = visitor.page
        await visitor.open("/requirements?open=EP-001")
        await expect(row(page, "US-001")).to_be_visible()
        for name in ("New", "Select", "Import a file"):
            await expect(page.get_by_role("link", name=name)).to_have_count(0)
        await page.keyboard.press("j")
        await page.keyboard.press("x")
        await expect(page.get_by_role("checkbox")).to_have_count(0)
        for path in ("/new?kind=epic", "/import"):
            await visitor.open(path)
            await expect(page.get_by_role("heading", name="You may not do this")).to_be_visible()
        visitor.faults.clear()  # browsers log what was answered 403


async def test_an_empty_tree_says_what_it_is_for(
    browser: Browser, empty_house: House, axe: str
) -> None:
    async with visiting(browser, empty_house, viewport=WIDE) as visitor:
        page = visitor.page
        await visitor.open("/requirements")
        await expect(page.get_by_role("heading", name="No requirements yet")).to_be_visible()
        assert await violations(page, axe) == []
        await page.get_by_role("link", name="Create an epic").click()
        await page.get_by_label("Title").fill("Checkout")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{empty_house.url}/items/EP-001")
