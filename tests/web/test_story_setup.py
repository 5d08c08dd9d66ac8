"""From a new installation to an assistant that is connected: what somebody does on the first day."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from playwright.async_api import Browser, expect

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp import Client
from tests.app.served import serving
from tests.web.checks import overflow, violations
from tests.web.house import House, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

PASSWORD = "a sentence is a good password"


class Installation:
    """As much of a house as a visitor needs, where the system is a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url


async def test_from_a_new_installation_to_an_assistant_that_is_connected(
    browser: Browser, tmp_path: Path, axe: str
) -> None:
    async with serving(tmp_path / "data") as served:
        told = (served.data / "first-run.txt").read_text()
        [(name, given)] = re.findall(r"administrator +(\S+)\s+password +(\S+)", told)
        house = cast("House", Installation(served.url))
        async with visiting(browser, house, "", viewport={"width": 1280, "height": 800}) as visitor:
            page = visitor.page
            await visitor.open("/")
            assert await violations(page, axe) == []
            await page.get_by_label("Username").fill(name)
            await page.get_by_label("Password").fill(given)
            await page.keyboard.press("Enter")

            await expect(page).to_have_title("Choose a password · Accord")
            assert await violations(page, axe) == []
            await visitor.open("/account")
            await expect(page.get_by_text("This password was generated or given")).to_be_visible()
            await page.go_back()
            await page.get_by_label("The password that you were given").fill(given)
            await page.get_by_label("New password", exact=True).fill(PASSWORD)
            await page.get_by_label("New password again").fill("something else")
            await page.get_by_role("button", name="Choose password").click()
            await expect(page.get_by_role("alert")).to_contain_text("is not the same")
            visitor.faults.clear()  # browsers log what was answered 422
            await page.get_by_label("The password that you were given").fill(given)
            await page.get_by_label("New password", exact=True).fill(PASSWORD)
            await page.get_by_label("New password again").fill(PASSWORD)
            await page.get_by_label("Email (optional)").fill("ada@example.org")
            await page.get_by_role("button", name="Choose password").click()

            await expect(page.get_by_role("status")).to_have_text("Your password is your own now.")
            assert await violations(page, axe) == []
            await expect(page.get_by_role("radio", name="Propose only")).to_be_checked()
            await page.get_by_role("button", name="Create token").click()
            token = await page.locator("#new-token").inner_text()
            line = await page.locator("#way-claude-code").inner_text()
            assert token in line
            assert await violations(page, axe) == []
            await page.set_viewport_size({"width": 320, "height": 640})
            assert await overflow(page) == []
            await page.set_viewport_size({"width": 1280, "height": 800})
            assert token not in page.url
            assert all(token not in str(each) for each in await page.context.cookies())

            [url] = re.findall(r"http://\S+/api/v1/mcp", line)
            headers = {"Authorization": f"Bearer {token}"}
            async with Client(url, headers=headers) as assistant:
                tools = await assistant.list_tools()
                assert "propose_changes" in {tool.name for tool in tools}
                steps = [{"operation": "create_epic", "arguments": {"title": "Payments"}}]
                asked = {"reason": "People have to pay", "steps": steps}
                assert not (await assistant.call_tool("propose_changes", asked)).is_error
                with pytest.raises(RpcError, match="needs a token with the scope 'write'"):
                    await assistant.call_tool("create_epic", {"title": "Payments"})

            await page.get_by_role("link", name="Continue").click()
            assert await violations(page, axe) == []
            await page.get_by_role("button", name="Load the sample project").click()
            await expect(page.get_by_text("The sample project is here.")).to_be_visible()
            await expect(page.get_by_text("EP-001").first).to_be_visible()

            await visitor.open("/tokens")
            assert token not in await page.content()
            await visitor.open("/sign-in")  # who is signed in has nothing to do there
            await expect(page.get_by_role("navigation", name="Places")).to_be_visible()
        assert token not in served.log
