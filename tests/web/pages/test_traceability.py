"""Coverage, the matrix, the graph and suspect links, for people with and without a mouse or scripts."""

from __future__ import annotations

import re
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

PAGES = (
    "/traceability",
    "/traceability/matrix?epic=EP-007&columns=items",
    "/traceability/graph",
    "/traceability/graph?item=REQ-006&impact=yes",
    "/traceability/suspects",
)
LONG = "Unbreakable" * 45
XSS = "<img src=x onerror=alert(1)>"


@pytest_asyncio.fixture(loop_scope="session", scope="module", autouse=True)
async def staged(house: House) -> None:
    """REQ-006 says something else since four links to it were made; some texts are nasty."""
    await house.do("edit_text", id="REQ-006", old="15 minutes", new="20 minutes")
    for number, title in enumerate((LONG, XSS)):
        story = await house.do("create_user_story", epic_id="EP-002", title=title)
        made = await house.do(
            "create_requirement", user_story_id=story.reference_id, title=title, description=title
        )
        await house.do(
            "create_relationship",
            source_id=made.reference_id,
            target_id=f"REQ-11{number}",
            type="depends_on",
        )
    await house.add_person("carla", "Commenter")


async def names(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in await page.locator(selector).all_text_contents()]


async def test_everybody_can_use_the_pages(visitor: Visitor, axe: str) -> None:
    found: dict[str, list[str]] = {}
    for path in PAGES:
        await visitor.open(path)
        found[path] = await violations(visitor.page, axe)
        await visitor.page.emulate_media(color_scheme="dark")
        found[path] += await violations(visitor.page, axe)
        await visitor.page.emulate_media(color_scheme="light")
    assert {path: each for path, each in found.items() if each} == {}


async def test_the_pages_fit_a_narrow_window(browser: Browser, house: House) -> None:
    async with visiting(browser, house, viewport={"width": 320, "height": 640}) as visitor:
        found: dict[str, Any] = {}
        for path in PAGES:
            await visitor.open(path)
            wide = await visitor.page.evaluate("document.documentElement.scrollWidth")
            found[path] = (await overflow(visitor.page), wide)
        assert found == dict.fromkeys(PAGES, ([], 320))


async def test_the_overview_tells_figures_and_what_to_do_next(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/traceability")
    figures = page.locator("dl.figures")
    await expect(figures).to_contain_text("active requirements")
    await expect(figures).to_contain_text(re.compile(r"Suspect links\s*4"))
    await expect(page.get_by_role("row", name=re.compile("EP-001"))).to_contain_text("50 % 8 of 16")
    await expect(page.get_by_role("row", name=re.compile("Data"))).to_contain_text("11 % 1 of 9")
    gap = page.locator(".gap").first
    await expect(gap.get_by_role("heading")).to_have_text(
        re.compile(r"Active requirements that nothing verifies 39")
    )
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await expect(page.locator(":focus")).to_have_text("REQ-003")
    await page.get_by_role("link", name="Link what verifies it of REQ-002").click()
    await expect(page.get_by_label("Type")).to_have_value("~verifies")
    await page.go_back()
    await page.get_by_role("link", name="Show all 39").click()
    await expect(page.locator("[data-row]")).to_have_count(39)


async def test_the_matrix_shows_gaps_and_suspects_as_words(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/traceability/matrix")
    await page.keyboard.press("f")
    await page.keyboard.type("ep-001")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("21 requirements")).to_be_visible()
    head = await names(page, ".matrix thead th")
    assert head == [
        *("Requirement", "Story", "Verified by", "Satisfied by", "Depends on", "Depended on by"),
        "Refines",
    ]
    unverified = page.get_by_role("row", name=re.compile("REQ-002"))
    await expect(unverified.get_by_role("cell").nth(1)).to_have_text("Not verified")
    held = page.get_by_role("row", name=re.compile("REQ-006 Hold"))
    await expect(held.get_by_role("cell").nth(1)).to_have_text("AC-003")
    await expect(held.get_by_role("cell").nth(4)).to_contain_text("REQ-007 Suspect")
    await page.get_by_text("Relationships 5").click()
    await page.get_by_label("Satisfied by").uncheck()
    await page.get_by_label("Columns").select_option("items")
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(page.locator(".matrix thead th").nth(2)).to_have_text("AC-001")
    first = page.get_by_role("row", name=re.compile("REQ-001"))
    await expect(first.get_by_role("cell").nth(1)).to_have_text("Verified by")
    await visitor.open("/traceability/matrix?epic=EP-999")
    await expect(page.get_by_role("alert")).to_contain_text("there is no epic 'EP-999'")
    visitor.faults.clear()  # browsers log what was answered 404


async def test_the_matrix_scrolls_in_its_box_and_comes_in_pages(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/traceability/matrix")
    box = page.get_by_role("region", name="Traceability matrix")
    await box.focus()
    while await box.evaluate("box => box.scrollTop") == 0:  # early keys scroll nothing
        await page.keyboard.press("End")
    assert await page.evaluate("document.querySelector('main').scrollTop") == 0
    top = await page.evaluate(
        "document.querySelector('.matrix thead th').getBoundingClientRect().top"
        " - document.querySelector('.matrix').getBoundingClientRect().top"
    )
    assert 0 <= top <= 2  # the head stays
    await page.locator("body").click(position={"x": 5, "y": 5})
    await page.keyboard.press("n")
    await expect(page.locator(".matrix tbody tr").first).to_contain_text("REQ-051")


async def test_the_graph_is_zoomed_dragged_and_followed(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/traceability/graph?item=REQ-006")
    picture = page.locator(".canvas svg.graph")
    await expect(picture.locator(".node")).to_have_count(7)
    await expect(picture.locator(".edge.dashed.warn")).to_have_count(4)
    await expect(picture.get_by_text("refines, suspect").first).to_be_visible()

    async def seen() -> str:
        return await picture.get_attribute("viewBox") or ""

    views = [await seen()]
    for press in ("+", "-", "-", "0"):
        await page.keyboard.press(press)
        views.append(await seen())
    await page.get_by_role("button", name="Zoom in").click()
    views.append(await seen())
    smaller = views[3]
    assert views == [views[0], views[1], views[0], smaller, views[0], views[1]]
    assert len({views[0], views[1], smaller}) == 3
    box = await page.locator(".canvas").bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 20, box["y"] + 20)
    await page.mouse.wheel(0, -100)
    await expect(picture).not_to_have_attribute("viewBox", views[5])
    before = await seen()
    await page.mouse.down()
    await page.mouse.move(box["x"] + 120, box["y"] + 80, steps=4)
    await page.mouse.up()
    await expect(picture).not_to_have_attribute("viewBox", before)
    await page.locator(".canvas").focus()
    before = await seen()
    await page.keyboard.press("ArrowLeft")
    await expect(picture).not_to_have_attribute("viewBox", before)
    await page.keyboard.press("0")
    await page.locator('[data-node="REQ-008"]').click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "Graph of REQ-008 Never sell a space twice"
    )


async def test_the_graph_shows_what_a_change_affects(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/traceability/graph?item=REQ-006")
    await page.get_by_label("Steps").select_option("2")
    await page.wait_for_url(re.compile("depth=2"))
    await page.keyboard.press("i")
    await expect(page.locator(".impact")).to_contain_text("A change of REQ-006 affects 10 items")
    await expect(page.locator('[data-node="REQ-008"] .note')).to_have_text("affected")
    await expect(page.locator('[data-node="US-002"] .note')).to_have_text("Done")
    affected = page.get_by_role("group", name=re.compile("Affected by a change"))
    await expect(affected.get_by_role("row")).to_have_count(11)
    await page.get_by_text("Relationships all").click()
    await page.get_by_label("refines").check()
    await page.get_by_role("button", name="Show", exact=True).click()
    await page.get_by_label("Hierarchy").select_option("no")
    await page.wait_for_url(re.compile("hierarchy=no"))
    lines = page.get_by_role("group", name=re.compile("Relationships drawn"))
    await expect(lines.get_by_role("row")).to_have_count(3)
    assert set(await names(page, "[data-node] .subtitle")) == {"REQ-006", "REQ-008", "REQ-015"}


async def test_a_large_neighbourhood_says_how_much_is_left_out(visitor: Visitor) -> None:
    story = await visitor.house.do("create_user_story", epic_id="EP-008", title="Crowded")
    for number in range(45):
        await visitor.house.do(
            "create_requirement", user_story_id=story.reference_id, title=f"One of many {number}"
        )
    await visitor.open(f"/traceability/graph?item={story.reference_id}")
    await expect(visitor.page.locator("[data-node]")).to_have_count(41)
    await expect(visitor.page.get_by_text("6 more items are in reach")).to_be_visible()
    await visitor.open("/traceability/graph?item=REQ-111&depth=2")  # whose neighbours are nasty
    await expect(visitor.page.locator("[data-node] title", has_text=XSS).first).to_be_attached()
    await visitor.open("/traceability/graph?item=REQ-999")
    await expect(visitor.page.get_by_role("alert")).to_contain_text("there is no item 'REQ-999'")
    visitor.faults.clear()  # browsers log what was answered 404


async def test_graph_and_suspects_work_without_scripts(browser: Browser, house: House) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/traceability")
        await page.get_by_role("link", name="Graph").click()
        await page.get_by_label("Item").fill("req-006")
        await page.get_by_role("button", name="Draw").click()
        lines = page.get_by_role("group", name=re.compile("Relationships drawn"))
        await expect(lines.get_by_role("row", name=re.compile("^REQ-007"))).to_contain_text(
            "depends on"
        )
        await expect(page.get_by_role("button", name="Zoom in")).to_be_hidden()
        await page.get_by_role("link", name="Suspects").click()
        await page.get_by_role("checkbox", name="Choose REQ-015 refines REQ-006").check()
        await page.get_by_label("Reason").fill(f"Read both {XSS}")
        await page.get_by_role("button", name="Confirm chosen").click()
        await expect(page.get_by_role("status").first).to_contain_text(
            "Confirmed that the link holds"
        )
        await expect(page.locator(".suspects > li")).to_have_count(3)


async def test_suspect_links_are_read_and_confirmed_with_a_reason(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/traceability/suspects")
    first = page.locator(".suspects > li").first
    await expect(first).to_contain_text("REQ-007 Release expired reservations depends on REQ-006")
    assert await first.locator("del").all_inner_texts() == ["15"]
    assert await first.locator("ins").all_inner_texts() == ["20"]
    await first.get_by_role("button", name="Confirm").click()  # the browser asks for the reason
    await expect(page.get_by_label("Reason")).to_be_focused()
    await page.keyboard.type("Still the same time")
    await first.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_text("Confirmed that the link holds")).to_be_visible()
    count = await page.locator(".suspects > li").count()
    await page.keyboard.press("x")
    await expect(page.locator(".suspects input:checked")).to_have_count(count)
    await page.keyboard.press("r")
    await page.keyboard.type("Read all of them")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text(f"Confirmed {count} links")).to_be_visible()
    await expect(page.get_by_role("heading", name="No link is suspect")).to_be_visible()
    [link] = (
        await visitor.house.do("list_relationships", id="REQ-011", direction="outgoing")
    ).items
    assert (link.suspect, link.confirmed_reason) == (False, "Read all of them")


async def test_who_may_only_comment_confirms_nothing(browser: Browser, house: House) -> None:
    await house.do("edit_text", id="REQ-006", old="20 minutes", new="25 minutes")
    async with visiting(browser, house, "carla") as visitor:
        await visitor.open("/traceability/suspects")
        await expect(visitor.page.locator(".suspects > li")).to_have_count(4)
        await expect(visitor.page.locator("main button")).to_have_count(0)
        await visitor.open("/traceability")
        await expect(visitor.page.get_by_role("link", name="Link what verifies it")).to_have_count(
            0
        )


async def test_without_anything_the_pages_say_what_to_do(
    browser: Browser, empty_house: House
) -> None:
    async with visiting(browser, empty_house) as visitor:
        for path, said in (
            ("/traceability", "Nothing to trace yet"),
            ("/traceability/matrix", "No requirements here"),
            ("/traceability/suspects", "No link is suspect"),
            ("/baselines", "No baselines yet"),
            ("/proposals", "Nothing waits for you"),
        ):
            await visitor.open(path)
            await expect(visitor.page.get_by_role("heading", name=said)).to_be_visible()
