"""Pages name the assistant whose work they show, by its client and token."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, expect

from tests.web.house import House, visiting
from tests.web.proposing import assistant, propose, step

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-60")]

WITH = re.compile(r"through scribe/1\.0\s+assistant\s*, token laptop")


async def test_the_work_of_an_assistant_is_named_where_it_is_shown(
    browser: Browser, house: House
) -> None:
    made = await house.do(
        "create_token",
        name="laptop",
        scopes=["read", "comment", "propose"],
    )
    async with assistant(house, made.token) as client:
        await client.call_tool("add_comment", {"target_id": "REQ-009", "text": "Which fare?"})
        id = await propose(
            client, "Name the fare", step("update_requirement", id="REQ-009", title="Paid fare")
        )
    proposed = re.compile(rf"proposed by admin, {WITH.pattern}")
    async with visiting(browser, house) as admin:
        page = admin.page
        await admin.open("/")
        waiting = page.locator(".waits").get_by_role("link", name="Name the fare")
        await expect(waiting).to_contain_text(WITH)
        cut = "(text) => text.scrollWidth > text.clientWidth"
        assert not await waiting.locator(".grow").evaluate(cut)
        await admin.open(f"/proposals/{id}")
        await expect(page.get_by_role("region", name="Proposals")).to_contain_text(WITH)
        await page.get_by_role("button", name="Accept").click()
        await expect(page.get_by_text("Accepted what admin proposed")).to_be_visible()

        await admin.open("/items/REQ-009")
        await expect(page.get_by_role("region", name="Last change")).to_contain_text(proposed)
        await expect(page.locator(".comment").first).to_contain_text(
            re.compile(rf"admin, {WITH.pattern}")
        )
        await admin.open("/items/REQ-009/history")
        await expect(page.locator(".revision").first).to_contain_text(proposed)
        for path in ("/changes", "/"):
            await admin.open(path)
            await expect(page.locator("main")).to_contain_text(
                re.compile(proposed.pattern, re.IGNORECASE)
            )
        await admin.open("/changes")
        await page.get_by_role("link", name="Accept proposal").first.click()
        await expect(page.locator("main")).to_contain_text(
            re.compile(rf"Proposed by admin, {WITH.pattern}")
        )
