"""The detail of an item: it is read, edited in place, and its facts are set, by everybody."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Dialog, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


async def test_an_item_reads_like_a_document(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/req-2")
    article = page.locator("article.item")
    await expect(article).to_contain_text("REQ-002 · Non-Functional · version 1")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Answer searches quickly")
    await expect(article.locator(".wavy")).to_have_text("quickly")
    await expect(article.locator(".lint")).to_contain_text("EARS: state-driven.")
    [row] = await article.locator(".links > li").all()
    await expect(row).to_contain_text("refines REQ-001 List sailings of a day")
    await expect(row.locator(".chip")).to_have_text("Active")
    facts = page.get_by_role("region", name="Facts")
    for fact in ("Active", "1 · Critical", "jonas", "US-001", "not verified", "Season opening"):
        await expect(facts).to_contain_text(fact)
    wide = await page.locator("#item-text").evaluate(
        "each => each.getBoundingClientRect().width / parseFloat(getComputedStyle(each).fontSize)"
    )
    assert wide < 66  # the widest letters are about as wide as they are high


async def test_title_and_text_are_edited_by_keys_with_hints_and_a_preview(
    visitor: Visitor,
) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-005")
    await page.keyboard.press("e")
    text = page.get_by_label("Text", exact=True)
    await expect(text).to_be_focused()
    await text.fill("The service shall react in a timely manner.")
    await expect(page.locator("#hints .wavy").first).to_have_text("in a timely manner")
    await text.fill("When a *passenger* returns, the service shall preselect REQ-001.")
    await expect(page.locator("#hints")).to_have_text("EARS: event-driven, complete.")
    await page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview")
    await expect(preview.locator("em")).to_have_text("passenger")
    await page.get_by_label("Title").fill("Preselect the last route")
    await page.keyboard.press("Control+Shift+Tab")
    await text.press("Control+Enter")
    await expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Preselect the last route")
    await expect(page.locator("#row-REQ-005")).to_contain_text("Preselect the last route")
    change = page.get_by_role("region", name="Last change")
    await expect(change.locator("ins").first).to_contain_text("Preselect")

    await page.keyboard.press("u")
    await expect(page.get_by_text("Change reverted.")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Remember the last route")
    await expect(page.locator("#row-REQ-005")).to_contain_text("Remember the last route")

    await page.locator("h1").click()
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Title")).to_have_count(0)


async def test_what_was_typed_is_not_left_without_a_question(visitor: Visitor) -> None:
    page = visitor.page
    questions: list[str] = []
    answers = ["stay", "leave"]

    async def answer(dialog: Dialog) -> None:
        questions.append(dialog.message)
        await (dialog.accept() if answers.pop(0) == "leave" else dialog.dismiss())

    page.on("dialog", answer)
    await visitor.open("/items/REQ-001")
    await page.keyboard.press("e")
    await page.get_by_label("Title").fill("Half a thou")
    await page.locator("#row-REQ-003 .to").click()
    await expect(page.get_by_label("Title")).to_have_value("Half a thou")
    await page.locator("#row-REQ-003 .to").click()
    await expect(page.locator(".meta")).to_contain_text("REQ-003")
    assert questions == ["Leave without saving what you typed?"] * 2


async def test_only_statuses_that_follow_are_offered(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-005")
    await page.keyboard.press("s")
    menu = page.locator("#menu-status")
    await expect(menu.get_by_role("button", name="Active")).to_be_focused()
    await expect(menu.get_by_role("button")).to_have_text(["Active", "Obsolete"])
    await page.keyboard.press("Escape")
    await expect(menu).to_be_empty()
    await page.keyboard.press("s")
    await expect(menu.get_by_role("button", name="Active")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("article .facts .chip").first).to_have_text("Active")
    await expect(page.get_by_role("link", name="Change status")).to_be_focused()
    await expect(page.locator("#row-REQ-005 .chip")).to_have_text("Active")


async def test_facts_are_chosen_from_menus(visitor: Visitor, house: House) -> None:
    page = visitor.page
    await visitor.open("/items/REQ-009")

    async def choose(fact: str, value: str) -> None:
        await page.get_by_role("link", name=f"Change {fact}").click()
        await page.locator(".pop").get_by_role("button", name=value).click()
        await expect(page.locator("#toasts")).to_contain_text(
            re.compile(f"{fact} was changed", re.IGNORECASE)
        )

    await choose("priority", "4 · Low")
    await choose("assignee", "nobody")
    await choose("type", "Interface")
    await choose("acceptance criteria", "AC-004")
    await page.get_by_role("link", name="Change labels").click()
    await page.get_by_label("Another label").fill("quayside")
    await page.get_by_role("button", name="Add label").click()
    await expect(page.get_by_text("Label quayside is new, and was added.")).to_be_visible()
    await page.get_by_role("link", name="Change what it stands under").click()
    await page.get_by_label("Reference id").fill("us-003")
    await page.get_by_role("button", name="Save", exact=True).click()
    # Its criteria are of another story: told, and nothing is lost.
    await expect(page.locator("#toasts")).to_contain_text("AC-004")
    visitor.faults.clear()
    saved = await house.do("get_requirement", id="REQ-009")
    assert (saved.priority, saved.assignee, saved.type, saved.labels) == (
        *(4, None, "Interface"),
        ["quayside"],
    )
    assert saved.acceptance_criteria_reference_id == "AC-004"
    await page.get_by_role("button", name="Remove label quayside").click()
    await expect(page.get_by_text("Label quayside was removed.")).to_be_visible()


async def test_every_kind_has_its_page(visitor: Visitor, axe: str) -> None:
    page = visitor.page
    for id, fact in (
        ("EP-001", "User stories"),
        ("US-001", "Requirements"),
        ("AC-001", "Author"),
        ("STD-001", "Guides"),
        ("REQ-006", "Coverage"),
    ):
        await visitor.open(f"/items/{id}")
        await expect(page.locator(".facts")).to_contain_text(fact)
    assert await violations(page, axe) == []
    await visitor.open("/steering-documents")
    assert await violations(page, axe) == []
    await page.get_by_role("link", name="Privacy by design").click()
    await expect(page.locator(".meta")).to_contain_text("STD-003 · Steering document")


async def test_everything_works_without_scripts(browser: Browser, house: House) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/items/REQ-012")
        await page.get_by_role("link", name="Edit", exact=True).click()
        await page.get_by_label("Title").fill("")
        await page.get_by_label("Text", exact=True).fill("**Bold** words")
        await page.get_by_role("button", name="Preview").click()
        await expect(page.get_by_role("region", name="Preview").locator("strong")).to_be_visible()
        await page.get_by_label("Title").fill("Plain")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Plain")
        await page.get_by_role("link", name="Change status").click()
        await page.get_by_role("button", name="Obsolete").click()
        await expect(page.locator(".facts .chip").first).to_have_text("Obsolete")
        await page.get_by_role("link", name="Link", exact=True).click()
        await page.get_by_label("Item, by id or words").fill("refund")
        await page.get_by_role("button", name="Search").click()
        await page.get_by_role("radio").nth(1).check()
        await page.get_by_role("button", name="Link", exact=True).click()
        await expect(page.get_by_text("Linked with")).to_be_visible()
        await page.get_by_label("Quote from the text").fill("no such words")
        await page.get_by_label("Comment", exact=True).fill("Kept, whatever is wrong.")
        await page.get_by_role("button", name="Comment", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("does not stand in the text")
        await expect(page.get_by_label("Comment", exact=True)).to_have_value(
            "Kept, whatever is wrong."
        )
        visitor.faults.clear()  # browsers log what was answered 422
        await page.get_by_label("Quote from the text").fill("Bold")
        await page.get_by_role("button", name="Save comment").click()
        await expect(page.locator(".thread .quote")).to_have_text("Bold")
        await page.get_by_role("link", name="History").click()
        await expect(page.locator(".revision")).to_have_count(5)  # with a label and a link


async def test_long_and_strange_texts_fit_dark_and_narrow(
    browser: Browser, house: House, axe: str
) -> None:
    await house.do(
        "update_requirement",
        id="REQ-011",
        title="W" * 500,
        description="<script>alert(1)</script> "
        + "x" * 3_000
        + "\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    )
    await house.do("add_comment", target_id="REQ-011", text="y" * 2_000)
    await house.do("label_item", id="REQ-011", label="payments")
    async with visiting(
        browser, house, viewport={"width": 320, "height": 640}, color_scheme="dark"
    ) as visitor:
        for path in ("", "/edit", "/history", "/delete", "/set/assignee", "/link?q=pay"):
            await visitor.open(f"/items/REQ-011{path}")
            assert await overflow(visitor.page) == [], path
            if path in ("", "/edit", "/link?q=pay"):
                assert await violations(visitor.page, axe) == [], path
        await visitor.open("/steering-documents")
        assert await overflow(visitor.page) == []


async def test_who_may_only_comment_is_offered_nothing_else(browser: Browser, house: House) -> None:
    await house.add_person("carl", "Commenter")
    async with visiting(browser, house, "carl") as visitor:
        page = visitor.page
        await visitor.open("/items/REQ-001")
        await expect(page.get_by_label("Comment", exact=True)).to_be_visible()
        for name in ("Edit", "Delete", "Link", "Change status", "Undo"):
            await expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)
        await visitor.open("/items/REQ-001/edit")
        await page.get_by_label("Title").fill("Mine")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("alert")).to_contain_text("You may not do this")
        visitor.faults.clear()  # browsers log what was answered 403


async def test_what_is_not_there_is_told(visitor: Visitor) -> None:
    for path in ("/items/REQ-999", "/items/nonsense", "/items/AC-001/set/status"):
        await visitor.open(path)
        await expect(visitor.page.get_by_role("heading", level=1)).to_have_text(
            "There is no such thing"
        )
    visitor.faults.clear()  # browsers log what was answered 404
    await visitor.open("/items/PROMPT-001")
    assert visitor.path == "/prompts/PROMPT-001"


@pytest.mark.req("H-50")
async def test_criteria_verify_a_requirement_on_its_page_too(visitor: Visitor) -> None:
    story = (await visitor.house.do("get_requirement", id="REQ-002")).user_story_id
    made = await visitor.house.do(
        "create_acceptance_criteria", user_story_id=story, description="It is quick."
    )
    criteria = made.reference_id
    await visitor.house.do("update_requirement", id="REQ-002", acceptance_criteria_id=criteria)
    await visitor.open("/items/REQ-002")
    facts = visitor.page.get_by_role("region", name="Facts")
    await expect(facts).to_contain_text(f"verified by {criteria}")
