"""Two people edit the same requirement, and nothing of either is lost."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.web.house import House, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

WINDOW = {"width": 1440, "height": 820}
BEGAN = "When a sailing is listed, the booking service shall show the free seats within 2 s."


async def test_two_people_edit_the_same_requirement(browser: Browser, house: House) -> None:
    for name in ("anna", "otis"):
        await house.add_person(name, "User")
    await house.do("update_requirement", id="REQ-003", description=BEGAN)
    async with (
        visiting(browser, house, "anna", viewport=WINDOW) as anna,
        visiting(browser, house, "otis", viewport=WINDOW) as otis,
    ):
        for visitor in (anna, otis):
            await visitor.open("/items/REQ-003")
            await visitor.page.keyboard.press("e")
            await expect(text_of(visitor.page)).to_have_value(BEGAN)

        await text_of(anna.page).fill(BEGAN.replace("free seats", "number of free seats"))
        await anna.page.keyboard.press("Control+Enter")
        await expect(anna.page.get_by_text("Saved as version")).to_be_visible()

        await otis.page.get_by_label("Title").fill("Show what is free")
        await text_of(otis.page).fill(BEGAN.replace("2 s", "800 ms"))
        await otis.page.get_by_role("button", name="Save").click()

        # Otis sees what he typed beside what is there now; nothing is saved.
        told = otis.page.get_by_role("alert")
        await expect(told).to_contain_text("anna changed REQ-003 while you were editing")
        await expect(told).to_be_focused()
        mine, theirs = await otis.page.locator(".sides > div").all()
        await expect(mine.locator("ins").first).to_have_text("what is free")
        await expect(mine).to_contain_text("within 2 s800 ms")
        await expect(theirs.locator("ins")).to_have_text("number of ")
        saved = await house.do("get_requirement", id="REQ-003")
        assert "number of free seats within 2 s" in saved.description

        # Both did something else to the same sentence: put together, it has both.
        await otis.page.get_by_role("button", name="Edit merged").click()
        both = BEGAN.replace("free seats", "number of free seats").replace("2 s", "800 ms")
        await expect(text_of(otis.page)).to_have_value(both)
        await expect(otis.page.get_by_label("Title")).to_have_value("Show what is free")
        await otis.page.get_by_role("button", name="Save").click()
        await expect(otis.page.get_by_text("Saved as version")).to_be_visible()
        saved = await house.do("get_requirement", id="REQ-003")
        assert (saved.title, saved.description) == ("Show what is free", both)

        # Anna, who still looks at hers, undoes: what Otis did stands in the way, and she is told.
        await anna.page.keyboard.press("u")
        await expect(anna.page.get_by_role("alert")).to_contain_text("by otis")
        anna.faults.clear()  # browsers log what was answered 409


async def test_the_same_words_stand_in_brackets_and_mine_or_theirs_can_be_taken(
    browser: Browser, house: House
) -> None:
    await house.do("update_requirement", id="REQ-004", description="The service shall wait 5 s.")
    async with visiting(browser, house, viewport=WINDOW, java_script_enabled=False) as visitor:
        page = visitor.page

        async def clash() -> None:
            await visitor.open("/items/REQ-004/edit")
            await text_of(page).fill("The service shall wait 7 s.")
            await house.do("update_requirement", id="REQ-004", description="It shall wait 9 s.")
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_role("alert")).to_contain_text("Nothing of yours is saved yet")
            visitor.faults.clear()  # browsers log what was answered 412

        await clash()
        await page.get_by_role("button", name="Edit merged").click()
        await expect(text_of(page)).to_have_value("It shall wait [yours: 7] [theirs: 9] s.")
        await expect(page.get_by_text("stands in brackets, in 1 place")).to_be_visible()

        await house.do(
            "update_requirement", id="REQ-004", description="The service shall wait 5 s."
        )
        await clash()
        await page.get_by_role("button", name="Take mine").click()
        await expect(page.locator("#item-text")).to_have_text("The service shall wait 7 s.")

        await house.do(
            "update_requirement", id="REQ-004", description="The service shall wait 5 s."
        )
        await clash()
        await page.get_by_role("link", name="Take theirs").click()
        await expect(page.locator("#item-text")).to_have_text("It shall wait 9 s.")


async def test_what_others_did_to_other_fields_is_no_conflict(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house, viewport=WINDOW) as visitor:
        page = visitor.page
        await visitor.open("/items/REQ-006/edit")
        await house.do("update_requirement", id="REQ-006", priority=4)
        await page.get_by_label("Title").fill("Hold it")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", name="Hold it")).to_be_visible()
        saved = await house.do("get_requirement", id="REQ-006")
        assert (saved.title, saved.priority) == ("Hold it", 4)


async def test_a_fact_that_somebody_else_just_set_is_not_overwritten(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house, viewport=WINDOW) as visitor:
        page = visitor.page
        await visitor.open("/items/REQ-007")
        await page.get_by_role("link", name="Change priority").click()
        low = page.get_by_role("button", name="4 · Low")
        await expect(low).to_be_visible()
        await house.do("update_requirement", id="REQ-007", priority=2)
        await low.click()
        await expect(page.locator("#toasts")).to_contain_text("Priority is 2 since")
        visitor.faults.clear()  # browsers log what was answered 409
    assert (await house.do("get_requirement", id="REQ-007")).priority == 2


def text_of(page: Page) -> Locator:
    return page.get_by_label("Text", exact=True)
