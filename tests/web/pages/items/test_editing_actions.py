"""What else is done with an item: hints put aside, links made, talk, and deletion."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.web.house import House, Visitor

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


async def test_a_rule_of_the_linter_is_suppressed_with_a_reason(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-002")
    await page.get_by_text("Suppress vague-word").click()
    await page.get_by_placeholder("Why it does not matter here").fill("The text has the number.")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("vague-word is suppressed")).to_contain_text(
        "The text has the number."
    )
    await expect(page.locator(".lint")).to_have_count(0)
    await page.get_by_role("button", name="Look again").click()
    await expect(page.locator(".lint")).to_be_visible()


async def test_items_are_linked_by_keys_confirmed_and_parted(
    visitor: Visitor, house: House
) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-008")
    await page.keyboard.press("l")
    await expect(page.get_by_label("Type", exact=True)).to_be_focused()
    await page.get_by_label("Type", exact=True).select_option(label="is verified by")
    await page.get_by_label("Item, by id or words").fill("ac-003")
    await expect(page.get_by_role("radio")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Linked with AC-003.")).to_be_visible()
    row = page.locator(".links > li", has_text="AC-003")
    await expect(row).to_contain_text("is verified by")
    await expect(page.get_by_text("verified by 1 link")).to_be_visible()

    await house.do("update_acceptance_criteria", id="AC-003", description="Held for 20 minutes.")
    await visitor.open("/items/REQ-008")
    await expect(row.locator(".chip")).to_have_text("Suspect")
    await row.get_by_label("What to do with").click()
    await row.get_by_placeholder("Why it still holds").fill("The time does not matter here.")
    await row.get_by_role("button", name="Confirm link").click()
    await expect(row.locator(".chip")).to_have_count(0)
    await row.get_by_label("What to do with").click()
    await row.get_by_role("button", name="Remove link").click()
    await expect(page.get_by_text("The link was removed.")).to_be_visible()
    await expect(row).to_have_count(0)


@pytest.mark.req("H-61")
async def test_the_newest_change_is_the_one_that_is_undone(visitor: Visitor, house: House) -> None:
    """What the page announced when it was loaded is out of date with the next change."""
    page = visitor.page
    await visitor.open("/items/REQ-009")
    toasts = page.locator("#toasts")
    for _ in range(2):
        await page.keyboard.press("s")
        await page.locator("#menu-status").get_by_role("button", name="Obsolete").click()
        await expect(toasts).to_contain_text("Status was changed.")
        await expect(page.locator(".notice")).to_have_count(0)
        await page.keyboard.press("u")
        await expect(page.locator(".notice")).to_contain_text("Change reverted.")
    assert visitor.path == "/items/REQ-009"
    assert (await house.do("get_requirement", id="REQ-009")).status == "Active"


async def test_people_talk_about_an_item(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-010")
    await page.locator("#item-text p").select_text()
    await page.get_by_role("button", name="Quote what is selected").click()
    await page.get_by_label("Comment", exact=True).fill("How *long* is that?")
    await page.keyboard.press("Control+Enter")
    thread = page.locator(".thread")
    await expect(thread.locator("em")).to_have_text("long")
    await expect(thread.locator(".quote")).to_contain_text("free deck length")

    await thread.get_by_role("link", name="Reply").click()
    await page.get_by_label("Answer").fill("Twelve metres.")
    await page.get_by_role("button", name="Reply").click()
    answer = thread.locator(".answers .comment")
    await expect(answer).to_contain_text("Twelve metres.")
    await answer.get_by_role("link", name="Edit").click()
    await answer.get_by_label("Comment").fill("Eleven metres.")
    await answer.get_by_role("button", name="Save comment").click()
    await expect(answer).to_contain_text("Eleven metres.")
    await expect(answer).to_contain_text("edited")

    await thread.get_by_role("button", name="Resolve").click()
    await expect(thread).to_contain_text("Resolved by admin")
    await thread.get_by_role("button", name="Open again").click()
    await expect(thread.get_by_role("button", name="Resolve")).to_be_visible()
    await expect(page.locator(".facts")).to_contain_text("2, 1 open")

    page.once("dialog", lambda dialog: dialog.dismiss())
    await answer.get_by_role("button", name="Delete").click()
    await expect(answer).to_contain_text("Eleven metres.")
    page.once("dialog", lambda dialog: dialog.accept())
    await answer.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("The comment was deleted.")).to_be_visible()
    await expect(answer).to_have_count(0)


async def test_what_stands_in_the_way_of_deleting_is_told(visitor: Visitor, house: House) -> None:
    page = visitor.page
    made = await house.do("create_epic", title="Short-lived")
    await house.do("create_user_story", epic_id=made.reference_id, title="Soon gone")
    await visitor.open(f"/items/{made.reference_id}")
    await page.get_by_role("link", name="Delete").click()
    await expect(page.get_by_role("alert")).to_contain_text("stands under it")
    await page.get_by_label("Delete all of this with it").check()
    await page.get_by_role("button", name="and all of this").click()
    await page.wait_for_url("**/requirements")
    await expect(page.get_by_text(f"{made.reference_id} was deleted.")).to_be_visible()


@pytest.mark.req("H-52")
async def test_what_was_saved_or_deleted_is_undone_from_the_toast(
    visitor: Visitor, house: House
) -> None:
    page = visitor.page
    made = await house.do("create_requirement", user_story_id="US-001", title="To be undone")
    await visitor.open(f"/items/{made.reference_id}")
    await page.keyboard.press("e")
    await page.get_by_label("Title").fill("Changed by mistake")
    await page.get_by_label("Text", exact=True).press("Control+Enter")
    toast = page.locator("#toasts")
    await expect(toast).to_contain_text("Saved as version 2.")
    await toast.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("To be undone")
    notice = page.locator("main > .notice")
    await expect(notice).to_contain_text("Change reverted.")

    await visitor.open(f"/items/{made.reference_id}/delete")
    await page.get_by_role("button", name="Delete").click()
    await expect(notice).to_contain_text(f"{made.reference_id} was deleted.")
    await notice.get_by_role("button", name="Undo").click()
    await expect(notice).to_contain_text("Change reverted.")
    assert (await house.do("get_requirement", id=made.reference_id)).title == "To be undone"
