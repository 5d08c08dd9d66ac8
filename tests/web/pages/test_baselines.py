"""Baselines are kept, looked at, compared and exported; changes are read and taken back."""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

XSS = "<script>alert(1)</script>"


async def test_a_baseline_is_created_and_compared_by_keyboard(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    await visitor.open("/baselines")
    await page.keyboard.press("c")
    await expect(page.get_by_role("heading", name="New baseline")).to_be_visible()
    await page.get_by_label("Name").focus()
    await page.keyboard.type("season opening")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("there is a baseline 'Season opening'")
    await page.get_by_label("Name").fill(f"Release 3 {XSS}")
    await page.get_by_label("Epic").fill("EP-001")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name=f"Release 3 {XSS}")).to_be_visible()
    await expect(page.locator("main")).to_contain_text("Baseline of EP-001")
    await house.do("edit_text", id="REQ-006", old="15 minutes", new="20 minutes")
    await house.do("delete_requirement", id="REQ-005", force=True)
    await house.do("create_requirement", user_story_id="US-001", title=f"Print {XSS}")
    await page.keyboard.press("d")
    await expect(page.get_by_role("status").last).to_be_attached()
    await expect(page.get_by_text("1 added")).to_be_visible()
    rows = page.locator(".compared > li")
    assert [re.sub(r"\s+", " ", row).strip() for row in await rows.all_inner_texts()] == [
        "− Removed REQ-005 Remember the last route requirement",
        "~ Changed REQ-006 Hold a reservation requirement description When a party is reserved, the "
        "booking service shall hold its seats and deck space for 1520 minutes.",
        f"+ Added REQ-121 Print {XSS} requirement",
    ]
    await page.get_by_label("Compare with").select_option("Season opening")
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        f"From Release 3 {XSS} to Season opening"
    )
    await page.get_by_role("link", name="Swap").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        f"From Season opening to Release 3 {XSS}"
    )
    visitor.faults.clear()  # browsers log what was answered 409


async def test_a_baseline_is_exported(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/baselines")
    await page.get_by_role("link", name="Season opening").first.click()
    async with page.expect_download() as waiting:
        await page.get_by_role("link", name="Export JSON").click()
    download = await waiting.value
    content = json.loads((await download.path()).read_bytes())
    assert (content["format"], content["name"], len(content["entries"])) == (
        *("accord-baseline-1", "Season opening", 280),
    )


async def test_a_change_is_read_and_undone_by_keyboard(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    await house.do("update_epic", id="EP-001", title=f"Booking {XSS}")
    await visitor.open("/changes")
    await expect(page.locator("tbody tr").first).to_contain_text("EP-001")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Update epic EP-001")).to_be_visible()
    assert await page.locator(".redline del").all_inner_texts() == ["Booking a crossing"]
    assert await page.locator(".redline ins").all_inner_texts() == [f"Booking {XSS}"]
    await page.keyboard.press("u")
    await expect(page.get_by_text("Change reverted.")).to_be_visible()
    await expect(page.get_by_role("link", name="an earlier change")).to_be_visible()
    assert (await house.do("get_epic", id="EP-001")).title == "Booking a crossing"
    await visitor.open("/changes?actor=nobody")
    await expect(page.get_by_role("alert")).to_be_visible()
    visitor.faults.clear()  # browsers log what was answered 422


async def test_an_undo_that_is_in_the_way_is_told_without_scripts(
    browser: Browser, house: House
) -> None:
    await house.do("update_epic", id="EP-002", title="One")
    change = (await house.do("list_changes", limit=1)).items[0].id
    await house.do("update_epic", id="EP-002", title="Two")
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        await visitor.open(f"/changes/{change}")
        await visitor.page.get_by_role("button", name="Undo").click()
        await expect(visitor.page.get_by_role("alert")).to_contain_text("EP-002")
        await visitor.open("/baselines")
        await visitor.page.get_by_role("link", name="Compare with now").last.click()
        await expect(visitor.page.get_by_role("heading", level=1)).to_have_text(
            "From Season opening to now"
        )
        visitor.faults.clear()  # browsers log what was answered 409


async def test_everybody_can_use_the_pages_in_any_window(
    browser: Browser, house: House, axe: str
) -> None:
    baseline = (await house.do("list_baselines")).items[0].id
    change = (await house.do("list_changes", limit=1)).items[0].id
    paths = (
        *("/baselines", "/baselines/new", f"/baselines/{baseline}/compare"),
        *("/changes", f"/changes/{change}"),
    )
    found: dict[str, list[str]] = {}
    async with visiting(
        browser, house, viewport={"width": 320, "height": 640}, color_scheme="dark"
    ) as visitor:
        for path in paths:
            await visitor.open(path)
            found[path] = await overflow(visitor.page) + await violations(visitor.page, axe)
        await visitor.open(f"/baselines/{baseline}")
        found["all of it"] = await overflow(visitor.page)
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.req("H-62")
async def test_a_baseline_shows_the_agreed_text_and_leads_to_both_versions(
    visitor: Visitor, house: House, axe: str
) -> None:
    page = visitor.page
    long = "The agreed words. " * 80
    await house.do("create_epic", title="Agreed")
    epic = (await house.do("search_global", query="Agreed", kinds=["epic"])).items[0].reference_id
    story = await house.do("create_user_story", epic_id=epic, title="A story", description=long)
    await house.do("update_epic", id=epic, description=f"We **agreed** on this {XSS}.")
    kept = await house.do("create_baseline", name="Agreement", epic_id=epic)
    await house.do("update_epic", id=epic, description="Nobody agreed on this.")
    await visitor.open(f"/baselines/{kept.id}")
    rows = page.locator("tbody tr")
    await expect(rows.first).to_contain_text(f"We agreed on this {XSS}.")
    await expect(rows.first.locator(".text strong")).to_have_text("agreed")
    await expect(page.get_by_role("link", name="Read all 1,440 characters")).to_be_visible()
    assert await violations(page, axe) == []

    await rows.first.get_by_role("link", name=epic, exact=True).click()
    await expect(page.locator("main")).to_contain_text("version 2, as kept in Agreement")
    await expect(page.locator("main .text")).to_have_text(f"We agreed on this {XSS}.")
    assert await violations(page, axe) == []
    await page.get_by_role("link", name="compare both versions").click()
    await expect(page.locator("ins").first).to_contain_text("Nobody")
    await visitor.open(f"/baselines/{kept.id}")
    await rows.first.get_by_role("link", name="Today").click()
    await page.wait_for_url(f"**/items/{epic}")

    await house.do("delete_user_story", id=story.reference_id)
    await visitor.open(f"/baselines/Agreement/items/{story.reference_id.lower()}")
    await expect(page.locator("main")).to_contain_text("It was deleted since.")
    await expect(page.locator("main .text")).to_contain_text(long.strip())
