"""Proposals are listed, read and decided on, by mouse and keyboard, with and without scripts."""

from __future__ import annotations

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting
from tests.web.proposing import proposed, step

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

XSS = "<img src=x onerror=alert(1)>"


@pytest_asyncio.fixture(loop_scope="session", scope="module", autouse=True)
async def staged(house: House) -> None:
    await house.add_person("carla", "Commenter")


async def test_a_proposal_is_read_and_rejected_with_a_reason(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    await proposed(house, "Another one", step("update_epic", id="EP-006", title="People"))
    id = await proposed(
        house,
        f"More to print {XSS}",
        step("create_requirement", user_story_id="US-001", title=XSS, description="Print it fast."),
        step("update_requirement", id="REQ-001", status="Obsolete"),
    )
    await visitor.open(f"/proposals/{id}")
    detail = page.get_by_role("region", name="The proposal")
    await expect(detail).to_contain_text("mara, through Claude Code 2.1 assistant")
    await expect(detail.locator(".compared > li").first).to_contain_text("user story US-001")
    await expect(detail.locator(".box.warn")).to_contain_text("'fast' is vague")
    await page.keyboard.press("r")
    await expect(page.get_by_label("Reason")).to_be_focused()
    await page.keyboard.type("Nobody prints")
    await page.keyboard.press("Enter")  # decides nothing
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(detail).to_contain_text("Rejected by admin")
    await expect(detail).to_contain_text("Nobody prints")
    await page.get_by_role("link", name="Decided 1").click()
    await expect(page.locator(".inbox li")).to_contain_text(f"More to print {XSS}")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="Next open proposal")).to_be_visible()
    await page.keyboard.press("n")
    await expect(page.get_by_role("heading", name="Another one")).to_be_visible()


@pytest.mark.req("H-30")
async def test_what_you_proposed_yourself_has_no_button_to_accept_it(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    steps = [step("update_epic", id="EP-004", title="Mine")]
    made = await house.do("propose_changes", reason="My own idea", steps=steps)
    await visitor.open(f"/proposals/{made.id}")
    detail = page.get_by_role("region", name="The proposal")
    await expect(detail).to_contain_text("somebody else has to accept it")
    await expect(detail.get_by_role("button", name="Reject")).to_be_visible()
    await expect(detail.get_by_role("button", name="Accept")).to_have_count(0)
    await house.do("reject_proposal", id=made.id, reason="No")


async def test_what_changed_since_is_told_and_keeps_it_from_being_accepted(
    browser: Browser, house: House
) -> None:
    id = await proposed(house, "Clearer", step("update_epic", id="EP-003", title="Going aboard"))
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open(f"/proposals/{id}")
        await house.do("update_epic", id="EP-003", title="All aboard")
        await page.get_by_role("button", name="Accept").click()  # as it was a moment ago
        await expect(page.get_by_role("alert").first).to_contain_text(
            "changed since it was proposed"
        )
        await expect(page.get_by_role("button", name="Accept")).to_have_count(0)
        await page.get_by_role("button", name="Reject").click()
        await expect(page.get_by_role("alert").first).to_contain_text("reason")
        await page.get_by_label("Reason").fill("It is called otherwise now")
        await page.get_by_role("button", name="Reject").click()
        await expect(page.get_by_text("Rejected what mara proposed")).to_be_visible()
        visitor.faults.clear()  # browsers log what was answered 409 and 422


async def test_who_may_only_comment_reads_and_decides_nothing(
    browser: Browser, house: House
) -> None:
    id = await proposed(house, "Shorter", step("update_epic", id="EP-004", title="Fares"))
    async with visiting(browser, house, "carla") as visitor:
        await visitor.open("/proposals")
        await visitor.page.get_by_role("link", name="Shorter").click()
        await expect(visitor.page.get_by_role("heading", name="Shorter")).to_be_visible()
        await expect(visitor.page.locator("main button")).to_have_count(0)
    found = await house.do("get_proposal", id=id)
    assert found.state == "open"


async def test_everybody_can_use_the_pages_in_any_window(
    browser: Browser, house: House, axe: str
) -> None:
    id = await proposed(
        house,
        "Unbreakable" * 40,
        step("update_epic", id="EP-005", title="Unbreakable" * 40, description="Long.\n" * 50),
    )
    found = []
    async with visiting(
        browser, house, viewport={"width": 320, "height": 640}, color_scheme="dark"
    ) as visitor:
        for path in ("/proposals", f"/proposals/{id}"):
            await visitor.open(path)
            found += await overflow(visitor.page) + await violations(visitor.page, axe)
        await visitor.page.set_viewport_size({"width": 1440, "height": 820})
        await visitor.page.emulate_media(color_scheme="light")
        found += await violations(visitor.page, axe)
    assert found == []
