"""An assistant proposes, a person accepts."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, expect

from accord.jsonrpc.protocol.errors import RpcError
from tests.web.house import House, visiting
from tests.web.proposing import assistant, propose, step

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

WINDOW = {"width": 1440, "height": 820}


async def test_an_assistant_proposes_and_a_person_accepts(browser: Browser, house: House) -> None:
    await house.add_person("petra", "User")
    async with visiting(browser, house, "petra", viewport=WINDOW) as petra:
        page = petra.page

        # Petra makes a token that may read and propose, and nothing else.
        await petra.open("/tokens/new")
        await page.get_by_label("Name").fill("scribe")
        for box in await page.get_by_role("checkbox").all():
            await box.set_checked(await box.get_attribute("value") in ("read", "propose"))
        await page.get_by_role("button", name="Create token").click()
        token = await page.locator("#new-token").inner_text()

        # Her assistant may not write, so it proposes.
        async with assistant(house, token) as client:
            with pytest.raises(RpcError, match="scope 'write'"):
                await client.call_tool("update_requirement", {"id": "REQ-007", "title": "Mine"})
            await propose(
                client,
                "Say the time in one place only",
                step("edit_text", id="REQ-007", old="15 minutes", new="the time of REQ-006"),
                step(
                    "create_relationship",
                    source_id="REQ-008",
                    target_id="REQ-007",
                    type="depends_on",
                ),
            )
        before = await house.do("get_requirement", id="REQ-007")
        assert "15 minutes" in before.description

        # She sees that something waits, reads it, and accepts by keyboard.
        await petra.open("/")
        waits = page.get_by_role("navigation", name="Places").get_by_role("link", name="Proposals")
        await expect(waits).to_contain_text("1")
        await page.keyboard.press("g")
        await page.keyboard.press("o")
        await expect(page.get_by_role("link", name=re.compile("one place only"))).to_be_visible()
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        detail = page.get_by_role("region", name="The proposal")
        await expect(detail).to_contain_text("petra, through scribe")
        await expect(detail).to_contain_text("token scribe")
        assert await detail.locator("del").all_inner_texts() == ["15 minutes"]
        assert await detail.locator("ins").all_inner_texts() == ["the time of REQ-006"]
        await expect(detail).to_contain_text("links become suspect")
        await page.keyboard.press("a")
        await expect(page.get_by_text("Accepted what petra proposed")).to_be_visible()
        await expect(detail).to_contain_text("Accepted by petra")

        # It is a change of hers with the assistant named, and can be undone.
        after = await house.do("get_requirement", id="REQ-007")
        assert "the time of REQ-006" in after.description
        await page.get_by_role("link", name="See the change").click()
        await expect(page.locator("main")).to_contain_text("Proposed by petra")
        await page.keyboard.press("u")
        await expect(page.get_by_text("Change reverted.")).to_be_visible()
        restored = await house.do("get_requirement", id="REQ-007")
        assert restored.description == before.description
