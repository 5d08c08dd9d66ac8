"""Everybody can use it: with a keyboard, a screen reader, a small screen, dark or light."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from tests.explorer.visit import Visit, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]

Scene = Callable[[Visit], Awaitable[Any]]


async def overview(visit: Visit) -> None:
    await visit.open()


async def result(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("1")
    await visit.send()


async def error(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("nine")
    await visit.send()
    await visit.page.locator("summary", has_text="Headers and token").click()
    await visit.button("Add header").click()


async def form(visit: Visit) -> None:
    await visit.open("books.add")
    await visit.write_params(
        '{"book": {"year": null, "authors": ["a"], "labels": {"x": "y"}, "owner": {"type": "house"}}}'
    )
    await visit.button("Form").click()


async def wire(visit: Visit) -> None:
    await result(visit)
    await visit.button("Wire").click()
    await visit.code("Python")


async def editor(visit: Visit) -> None:
    await visit.open("books.remove")
    await visit.write_params('{"id": ')


async def batch(visit: Visit) -> None:
    await result(visit)
    await visit.page.click("#add-to-batch")
    await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")
    await visit.page.click("#send-batch")
    await visit.verdict()


async def history(visit: Visit) -> None:
    await error(visit)
    await visit.page.click("#tab-history")


async def search(visit: Visit) -> None:
    await visit.open("desk.sleep")
    await visit.page.fill("#search", "book")


async def keys(visit: Visit) -> None:
    await visit.open("nothing")
    await visit.page.keyboard.press("?")


SCENES: list[Scene] = [overview, result, error, form, wire, editor, batch, history, search, keys]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_to_object_to(
    browser: Browser, url: str, packages: Path, scheme: str
) -> None:
    axe = (packages / "axe-core" / "axe.min.js").read_text()
    async with visiting(browser, url, color_scheme=scheme) as visit:
        for scene in SCENES:
            await scene(visit)
            await visit.page.evaluate(axe)
            found = await visit.page.evaluate(
                """async () => (await axe.run({ resultTypes: ["violations"] })).violations.flatMap(
                    ({ id, nodes }) => nodes.map(({ target, failureSummary }) => [id, target.join(" "), failureSummary]))"""
            )
            assert found == [], scene.__name__


@pytest.mark.parametrize("width", [320, 768, 1024])
async def test_nothing_is_cut_off_on_a_small_screen(browser: Browser, url: str, width: int) -> None:
    async with visiting(browser, url, viewport={"width": width, "height": 640}) as visit:
        for scene in (overview, result, form, wire, batch, history):
            await scene(visit)
            wide = await visit.page.evaluate(
                """() => [...document.querySelectorAll("body *")]
                    .filter((each) => each.checkVisibility() && !each.closest("pre, .unseen, .skip"))
                    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
                    .map((each) => each.outerHTML.slice(0, 80))"""
            )
            assert wide == [], scene.__name__


async def test_the_page_has_landmarks_and_one_heading_of_the_first_level(visit: Visit) -> None:
    await visit.open("books.get")
    for role in ("banner", "navigation", "main", "complementary", "contentinfo"):
        assert await visit.page.get_by_role(role).count() == 1, role
    assert await visit.page.get_by_role("heading", level=1).count() == 1


async def test_the_method_can_be_skipped_to(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.page.keyboard.press("Tab")
    assert await visit.page.evaluate("document.activeElement.textContent") == "Skip to the method"
    await visit.page.keyboard.press("Enter")
    assert await visit.page.evaluate("document.activeElement.id") == "method"
    assert visit.page.url.endswith("#/method/books.get")


async def test_focus_is_always_visible(visit: Visit) -> None:
    await visit.open("books.get")
    for _ in range(30):
        await visit.page.keyboard.press("Tab")
        outline = await visit.page.evaluate(
            "(({ outlineStyle, outlineWidth }) => `${outlineStyle} ${outlineWidth}`)"
            "(getComputedStyle(document.activeElement))"
        )
        assert outline == "solid 2px", await visit.page.evaluate("document.activeElement.outerHTML")


async def test_the_theme_follows_the_system_until_one_is_chosen(browser: Browser, url: str) -> None:
    async with visiting(browser, url, color_scheme="dark") as visit:
        await visit.open()
        colour = "getComputedStyle(document.body).backgroundColor"
        assert await visit.page.evaluate(colour) == "rgb(17, 18, 20)"
        await visit.button("Theme: system").click()
        assert await visit.page.evaluate(colour) == "rgb(250, 250, 248)"
        await visit.page.reload()
        assert await visit.page.evaluate(colour) == "rgb(250, 250, 248)"
        await visit.button("Theme: light").click()
        assert await visit.page.evaluate(colour) == "rgb(17, 18, 20)"
        await visit.button("Theme: dark").click()
        await visit.page.emulate_media(color_scheme="light")
        assert await visit.page.evaluate(colour) == "rgb(250, 250, 248)"


async def test_nothing_moves_when_the_system_asks_for_less(browser: Browser, url: str) -> None:
    async with visiting(browser, url, reduced_motion="reduce") as visit:
        await visit.open()
        moving = await visit.page.evaluate(
            "[...document.querySelectorAll('*')].map((each) => getComputedStyle(each).transitionDuration)"
        )
        assert set(moving) == {"0s"}
