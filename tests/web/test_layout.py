"""What stands around every page, and who gets to see it."""

from __future__ import annotations

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import ADMIN, PASSWORD, House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


async def test_who_signs_in_comes_to_the_page_they_asked_for(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house, "") as visitor:
        page = visitor.page
        await visitor.open("/?from=mail")
        await page.get_by_label("Username").fill(ADMIN)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("navigation", name="Places")).to_be_visible()
        assert visitor.path == "/?from=mail"


async def test_a_wrong_password_is_told_and_nothing_else(browser: Browser, house: House) -> None:
    async with visiting(browser, house, "") as visitor:
        page = visitor.page
        await visitor.open("/sign-in")
        await page.get_by_label("Username").fill(ADMIN)
        await page.get_by_label("Password").fill("guess")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text(
            "The username or the password is wrong"
        )
        assert await page.get_by_label("Password").input_value() == ""
        visitor.faults.clear()  # browsers log what was answered 401


async def test_g_and_a_letter_go_to_a_place(visitor: Visitor) -> None:
    await visitor.open("/account")
    await visitor.page.keyboard.press("g")
    await visitor.page.keyboard.press("h")
    await visitor.page.wait_for_url(f"{visitor.house.url}/")


async def test_everybody_can_use_the_frame(visitor: Visitor, axe: str) -> None:
    await visitor.open("/")
    assert await violations(visitor.page, axe) == []


async def test_it_fits_a_narrow_window(browser: Browser, house: House) -> None:
    async with visiting(browser, house, viewport={"width": 320, "height": 640}) as visitor:
        await visitor.open("/")
        assert await overflow(visitor.page) == []


async def test_a_form_of_another_site_is_refused(house: House) -> None:
    cookies = {"accord_session": await house.session()}
    async with httpx.AsyncClient(base_url=house.url, cookies=cookies) as client:
        foreign = await client.post("/sign-out", headers={"Origin": "https://evil.example"})
        forged = await client.post("/sign-out", data={"csrf": "guess"})
    assert (foreign.status_code, forged.status_code) == (403, 403)


@pytest.mark.req("H-53")
async def test_the_bar_of_a_phone_is_one_row(browser: Browser, house: House) -> None:
    async with visiting(browser, house, viewport={"width": 390, "height": 800}) as visitor:
        for path, here in (
            ("/items/REQ-001", "REQ-001"),
            ("/requirements", "Requirements"),
            ("/audit", "Audit log"),
        ):
            await visitor.open(path)
            bar = await visitor.page.locator(".bar").bounding_box()
            assert bar is not None
            assert bar["height"] <= 64, path
            await expect(visitor.page.locator(".bar .where strong")).to_have_text(here)
            await expect(visitor.page.locator("#palette-input")).to_be_visible()


@pytest.mark.req("H-53")
async def test_what_is_printed_is_the_item_alone(browser: Browser, house: House) -> None:
    async with visiting(browser, house) as visitor:
        page = visitor.page
        await visitor.open("/items/REQ-001")
        await page.emulate_media(media="print")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        for hidden in (
            "#tree",
            ".bar",
            ".rail",
            ".foot",
            "#detail button",
            "#detail .button",
            "#detail form",
        ):
            assert await page.locator(f"{hidden}:visible").count() == 0, hidden
        await visitor.open("/requirements")
        await expect(page.locator("#row-EP-001")).to_be_visible()
        await page.emulate_media(media="screen")


@pytest.mark.req("H-53")
async def test_a_graph_is_printed_whole(browser: Browser, house: House) -> None:
    async with visiting(browser, house, viewport={"width": 700, "height": 900}) as visitor:
        page = visitor.page
        await visitor.open("/traceability/graph?item=REQ-006")
        outside = """() => {
            const box = document.querySelector("[data-zoom]").getBoundingClientRect();
            const nodes = [...document.querySelectorAll("[data-zoom] .node")];
            return nodes.map((node) => node.getBoundingClientRect())
                .filter((it) => it.left < box.left || it.right > box.right).length;
        }"""
        assert await page.evaluate(outside) > 0
        drawing = page.locator("svg.graph")
        seen = await drawing.get_attribute("viewBox")
        assert seen is not None
        await page.emulate_media(media="print")
        await expect(drawing).not_to_have_attribute("viewBox", seen)
        assert await page.evaluate(outside) == 0
        await page.emulate_media(media="screen")
        await expect(drawing).to_have_attribute("viewBox", seen)
