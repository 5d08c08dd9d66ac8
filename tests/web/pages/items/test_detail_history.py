"""How an item came to be what it is: redlines, who and through what, compared, undone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.async_api import expect

from accord.operations.arguments import convert
from tests.web.checks import violations
from tests.web.house import House, Visitor

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


async def by_assistant(house: House, operation: str, **arguments: Any) -> None:
    """Something that a program did for somebody, over MCP."""
    runner = house.system.runtime.runner
    found = runner.registry[operation]
    caller = replace(await house.caller("mara"), face="mcp", client="harbour-assistant 2.1")
    await runner.run(found, lambda: convert(found, arguments), caller)


async def test_a_page_tells_that_an_assistant_edited(visitor: Visitor, house: House) -> None:
    page = visitor.page
    text = "When a passenger cancels, the booking service shall refund the fare within 3 days."
    await house.do("update_requirement", id="REQ-007", description=text)
    await by_assistant(
        house, "update_requirement", id="REQ-007", description=text.replace("3 days", "72 h")
    )
    await visitor.open("/items/REQ-007")
    change = page.get_by_role("region", name="Last change")
    await expect(change.locator("del")).to_have_text("3 days")
    await expect(change.locator("ins")).to_have_text("72 h")
    await expect(change).to_contain_text("mara, through harbour-assistant 2.1 assistant")
    await change.get_by_role("link", name="Compare").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "REQ-007: version 2 and version 3"
    )


async def test_the_history_has_every_version_and_goes_back(
    visitor: Visitor, house: House, axe: str
) -> None:
    page = visitor.page
    await house.do("update_requirement", id="REQ-013", title="First")
    await house.do("update_requirement", id="REQ-013", title="Second", priority=4)
    await visitor.open("/items/REQ-013")
    await page.get_by_role("link", name="History").click()
    revisions = page.locator(".revision").filter(has_text=re.compile(r"^\s*version \d"))
    await expect(revisions).to_have_count(3)
    await expect(revisions.first).to_contain_text("version 3")
    await expect(revisions.first.locator("ins")).to_have_text(["Second", "4"])
    await expect(revisions.last).to_contain_text("Created")
    assert visitor.path == "/items/REQ-013/history"
    assert await violations(page, axe) == []

    await page.get_by_label("Compare version").fill("1")
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("version 1 and version 3")
    await expect(page.locator("ins")).to_have_count(2)
    await page.get_by_role("link", name="Back to the history").click()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("The change was undone.")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("First")
    assert visitor.path == "/items/REQ-013"
    await page.get_by_role("link", name="History").click()
    await expect(revisions.first).to_contain_text("took a change back")
    await expect(revisions.nth(1)).to_contain_text("undone since")


async def test_a_long_history_comes_in_pieces(visitor: Visitor, house: House) -> None:
    for number in range(25):
        await house.do("update_requirement", id="REQ-014", title=f"Title {number}")
    await visitor.open("/items/REQ-014/history")
    await expect(visitor.page.locator(".revision")).to_have_count(20)
    await visitor.page.get_by_role("link", name="Show more").click()
    await expect(visitor.page.locator(".revision")).to_have_count(7)  # with a link
    await visitor.open("/items/REQ-014/compare?a=x&b=1")
    await expect(visitor.page.get_by_role("heading", level=1)).to_have_text(
        "The input is not valid"
    )
    visitor.faults.clear()  # browsers log what was answered 422


@pytest.mark.req("H-61")
async def test_a_removed_link_is_in_the_history_and_comes_back_by_a_key(
    visitor: Visitor, house: House, axe: str
) -> None:
    page = visitor.page
    link = await house.do(
        "create_relationship", source_id="REQ-015", target_id="REQ-016", type="relates_to"
    )
    await visitor.open("/items/REQ-015")
    change = page.get_by_role("region", name="Last change")
    await expect(change).to_contain_text("Link added: REQ-015 relates to REQ-016")
    links = page.get_by_role("region", name="Relationships").locator("li", has_text="REQ-016")
    await links.get_by_label("What to do with").click()
    await links.get_by_role("button", name="Remove link").click()
    await expect(page.locator("#toasts")).to_contain_text("The link was removed.")
    await expect(change).to_contain_text("Link removed: REQ-015 relates to REQ-016")
    await page.keyboard.press("u")
    await expect(page.get_by_text("Change reverted.")).to_be_visible()
    await expect(links).to_have_count(1)

    await house.do("delete_relationship", id=link.id)
    await visitor.open("/items/REQ-016/history")
    newest = page.locator(".revision").first
    await expect(newest).to_contain_text("Link removed: REQ-015 relates to REQ-016")
    assert await violations(page, axe) == []
    await newest.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("The change was undone.")).to_be_visible()
    assert (await house.do("get_relationship", id=link.id)).type == "relates_to"


@pytest.mark.req("H-61")
async def test_a_key_undoes_what_was_just_announced_and_not_what_was_before(
    visitor: Visitor, house: House
) -> None:
    page = visitor.page
    await house.do("update_requirement", id="REQ-017", title="An earlier change")
    await visitor.open("/items/REQ-017")
    await page.get_by_label("Comment", exact=True).fill("By mistake")
    await page.get_by_role("button", name="Comment", exact=True).click()
    await expect(page.locator("#toasts")).to_contain_text("Your comment was added.")
    await page.locator("h1").evaluate("each => document.activeElement.blur()")
    await page.keyboard.press("u")
    await expect(page.get_by_text("Change reverted.")).to_be_visible()
    assert (await house.do("list_comments", target_id="REQ-017")).total == 0
    assert (await house.do("get_requirement", id="REQ-017")).title == "An earlier change"


@pytest.mark.req("H-61")
@pytest.mark.req("H-63")
async def test_changes_are_found_in_the_menu_and_undone_in_their_list(
    visitor: Visitor, house: House
) -> None:
    page = visitor.page
    await house.do("create_label", name="soon", colour="#aa0000")
    await house.do("label_item", id="REQ-018", label="soon")
    await visitor.open("/")
    await page.get_by_role("navigation", name="Places").get_by_role("link", name="Changes").click()
    await page.wait_for_url("**/changes")
    await expect(page.get_by_role("row").nth(1)).to_contain_text("Label item")
    await page.keyboard.press("j")
    await page.keyboard.press("u")
    await expect(page.get_by_text("Change reverted.")).to_be_visible()
    assert visitor.path == "/changes"
    await expect(page.get_by_role("row").nth(2)).to_contain_text("undone")
    assert (await house.do("get_requirement", id="REQ-018")).labels == []


@pytest.mark.req("H-59")
async def test_an_earlier_version_is_restored_from_the_history(
    visitor: Visitor, house: House
) -> None:
    made = await house.do("create_requirement", user_story_id="US-001", title="As it was")
    id = made.reference_id
    await house.do("update_requirement", id=id, title="As it is")
    await visitor.open(f"/items/{id}/history")
    await visitor.page.get_by_role("button", name="Restore version 1").click()
    await expect(visitor.page.get_by_role("heading", level=1)).to_have_text("As it was")
    await expect(visitor.page.locator("#toasts")).to_contain_text("Version 1 is restored.")
    await expect(visitor.page.locator("#toasts").get_by_role("button", name="Undo")).to_be_visible()
