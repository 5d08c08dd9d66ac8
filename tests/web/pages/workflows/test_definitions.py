"""Definitions of workflows and agents: reading, writing, starting, by people with browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting
from tests.web.workshop import REVIEW, Workshop, workshop

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

NARROW = {"width": 320, "height": 640}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def shop(house: House) -> AsyncIterator[Workshop]:
    async with workshop(house) as shop:
        await house.add_person("carla", "Commenter")
        yield shop


async def test_empty_places_say_what_they_are_for(browser: Browser, empty_house: House) -> None:
    async with visiting(browser, empty_house, viewport=NARROW) as visitor:
        for path, heading in (
            ("/agents", "No agents yet"),
            ("/approvals", "Nothing waits for you"),
            ("/dead-letters", "Nothing was given up"),
        ):
            await visitor.open(path)
            await expect(visitor.page.get_by_role("heading", name=heading)).to_be_visible()
            assert await overflow(visitor.page) == []


async def test_a_first_workflow_is_written_from_the_example(
    browser: Browser, empty_house: House, axe: str
) -> None:
    async with visiting(browser, empty_house) as visitor:
        page = visitor.page
        await visitor.open("/workflows")
        await expect(page.get_by_role("heading", name="No workflows yet")).to_be_visible()
        assert await violations(page, axe) == []
        await page.get_by_role("link", name="Begin with an example").click()
        await expect(page.locator("#checked")).to_contain_text("Valid ask-first 2 steps")
        await page.keyboard.press("Control+s")
        await page.wait_for_url("**/workflows/ask-first")
        await expect(page.get_by_role("status").first).to_contain_text("ask-first@1 is saved.")
        await page.get_by_label("title").fill("From the page")
        await page.get_by_role("button", name="Start run").click()
        await page.wait_for_url("**/runs/*")
        await expect(page.locator(".where")).to_contain_text("ask-first v1")


async def test_problems_are_told_with_their_places_while_one_types(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    await visitor.open("/workflows/review-requirement/edit")
    checked, text = page.locator("#checked"), page.get_by_label("Definition, as YAML or JSON")
    await expect(checked.locator("svg.graph [data-node=security]")).to_be_visible()
    assert await violations(page, axe) == []
    await text.fill("name: w\nsteps:\n  - {name: a, type: agent, agent: nobody}\n  - name: b\n")
    await expect(checked).to_contain_text("2 problems")
    await expect(checked).to_contain_text("steps[0].agent there is no agent 'nobody'")
    await checked.get_by_role("link", name="line 4").click()
    assert (
        await text.evaluate("each => each.value.slice(each.selectionStart)")
        == "  - name: b\n"[:-1] + "\n"
    )
    await text.fill("name: other\nsteps:\n  - {name: a, type: wait, for: 1}\n")
    await expect(checked).to_contain_text("saved as another workflow, other")
    await expect(checked.locator("svg.graph [data-node=a]")).to_be_visible()


async def test_tab_types_spaces_and_escape_lets_it_leave(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/workflows/new")
    text = page.get_by_label("Definition, as YAML or JSON")
    await text.fill("")
    await text.press("Tab")
    await text.press_sequentially("- a")
    await text.press("Enter")
    await text.press_sequentially("b")
    assert await text.input_value() == "  - a\n    b"
    await expect(text).to_be_focused()
    await text.press("Escape")
    await text.press("Tab")
    await expect(page.get_by_role("button", name="Validate")).to_be_focused()


async def test_without_scripts_a_button_checks_and_nothing_is_lost(
    browser: Browser, house: House, shop: Workshop
) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/workflows/new")
        text = page.get_by_label("Definition, as YAML or JSON")
        await text.fill("name: plain\nsteps: [{name: a, type: wait}]\n")
        await page.get_by_role("button", name="Validate").click()
        await expect(page.locator("#checked")).to_contain_text("1 problem line 2 steps[0]")
        assert await text.input_value() == "name: plain\nsteps: [{name: a, type: wait}]\n"
        await text.fill("name: plain\nsteps: [{name: a, type: wait, for: 0}]\n")
        await page.get_by_role("button", name="Save").click()
        await page.wait_for_url("**/workflows/plain")
        await page.get_by_label("Input as JSON").fill("{")
        await page.get_by_role("button", name="Start run").click()
        await expect(page.get_by_role("alert")).to_contain_text("input: is not JSON")
        await page.get_by_label("Input as JSON").fill('{"any": 1, "any": 2}')
        await page.get_by_role("button", name="Start run").click()
        await expect(page.get_by_role("alert")).to_contain_text("input/any: is given twice")
        await page.get_by_label("Input as JSON").fill('{"any": 1}')
        await page.get_by_role("button", name="Start run").click()
        await page.wait_for_url("**/runs/*")
        await shop.until(visitor.path.rpartition("/")[2], "completed")
        await page.reload()
        await expect(page.locator("#run-line")).to_contain_text('{"any":1}')
        visitor.faults.clear()  # browsers log what was answered 422


async def test_a_definition_shows_its_graph_versions_and_source(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    await shop.save({**REVIEW, "description": "It says <b>more</b> now. " + "x" * 400})
    await visitor.open("/workflows")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    row = page.get_by_role("link", name="review-requirement")
    await expect(row).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/workflows/review-requirement")
    assert await violations(page, axe) == []
    await expect(page.locator("svg.graph [data-node]")).to_have_count(8)
    await page.get_by_role("link", name="JSON", exact=True).click()
    await expect(page.locator("pre.source")).to_contain_text('"name": "review-requirement"')
    await page.get_by_role("link", name="what changed in version 2").click()
    await expect(page.locator("pre ins").first).to_contain_text("<b>more</b> now")
    await expect(page.locator("pre del").first).to_contain_text("Three agents")
    await visitor.open("/workflows/review-requirement@1")
    await expect(page.locator(".facts-line")).to_contain_text("the newest is 2")


async def test_what_others_wrote_is_shown_as_text_and_runs_can_be_switched_off(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    hostile = '"><script>document.title = "broken"</script><img src=x onerror=alert(1)>'
    choice = {
        "name": "which",
        "type": "condition",
        "switch": "${input}",
        "cases": {hostile: [{"name": "a", "type": "wait", "for": 0}]},
    }
    schema = {"type": "object", "properties": {hostile: {"type": "string", "title": hostile}}}
    await shop.save({"name": "hostile", "description": hostile, "input": schema, "steps": [choice]})
    await visitor.open("/workflows/hostile")
    await expect(page.locator(".described")).to_have_text(hostile)
    await expect(page.get_by_label(f"{hostile} (optional)")).to_be_visible()
    assert await page.locator("main script, main img").count() == 0
    assert "broken" not in await page.title()
    await page.get_by_role("button", name="Deactivate").click()
    await expect(page.get_by_text("No more runs can be started.")).to_be_visible()
    await expect(page.get_by_role("button", name="Start run")).to_have_count(0)
    await page.get_by_role("button", name="Activate").click()
    await expect(page.get_by_text("Runs can be started again.")).to_be_visible()


async def test_an_input_that_does_not_fit_is_said_beside_the_form(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    await visitor.open("/workflows/review-requirement")
    await page.get_by_text("Give all of it as JSON instead").click()
    await page.get_by_label("Input as JSON").fill('{"requirement": 5}')
    await page.get_by_label("requirement", exact=True).fill("REQ-001")
    await page.get_by_role("button", name="Start run").click()
    await expect(page.get_by_role("alert")).to_contain_text("input")
    assert await page.get_by_label("Input as JSON").input_value() == '{"requirement": 5}'
    visitor.faults.clear()  # browsers log what was answered 422


async def test_who_may_not_change_workflows_sees_no_buttons_for_it(
    browser: Browser, house: House, shop: Workshop
) -> None:
    async with visiting(browser, house, "carla") as visitor:
        page = visitor.page
        await visitor.open("/workflows/review-requirement")
        await expect(page.locator("svg.graph")).to_be_visible()
        for name in ("Deactivate", "Start run"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        await expect(page.get_by_role("link", name="Edit")).to_have_count(0)
        await visitor.open("/workflows/new")
        await expect(page.get_by_role("heading", name="You may not do this")).to_be_visible()
        visitor.faults.clear()  # browsers log what was answered 403


async def test_an_agent_is_added_checked_changed_and_deleted(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    url = (await shop.house.do("get_agent", name="ears-review")).url
    await visitor.open("/agents")
    assert await violations(page, axe) == []
    await page.keyboard.press("c")
    await page.wait_for_url("**/agents/new")
    await page.get_by_label("Name").fill("second")
    await page.get_by_label("Address").fill("ftp://nowhere")
    await page.get_by_role("button", name="Add agent").click()
    await expect(page.get_by_role("alert")).to_contain_text("url")
    assert await page.get_by_label("Name").input_value() == "second"
    await page.get_by_label("Address").fill(url)
    await page.get_by_label("Calls show").select_option("bearer")
    await page.get_by_label("Where the secret is").fill("env:ACCORD_SECRET_SECOND")
    await page.get_by_role("button", name="Add agent").click()
    await page.wait_for_url("**/agents/second")
    assert await violations(page, axe) == []
    await page.get_by_label("Calls show").select_option("none")
    await page.get_by_label("Attempts").fill("5")
    await page.get_by_role("button", name="Save agent").click()
    await expect(page.get_by_text("second is saved.")).to_be_visible()
    assert (await shop.house.do("get_agent", name="second")).retry.attempts == 5
    await page.get_by_role("button", name="Check now").click()
    await expect(page.get_by_text("second is healthy")).to_be_visible()
    await expect(page.locator(".facts")).to_contain_text("Closed: called as usual")
    page.once("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Delete").click()
    await page.wait_for_url("**/agents")
    await expect(page.get_by_text("second is deleted.")).to_be_visible()
    visitor.faults.clear()  # browsers log what was answered 422


async def test_everything_fits_a_narrow_dark_window(
    browser: Browser, house: House, shop: Workshop, axe: str
) -> None:
    async with visiting(browser, house, viewport=NARROW, color_scheme="dark") as visitor:
        for path in (
            "/workflows",
            "/workflows/review-requirement",
            "/workflows/review-requirement/edit",
            "/workflows/review-requirement/compare",
            "/agents",
            "/agents/threat-model",
        ):
            await visitor.open(path)
            await visitor.page.wait_for_load_state("networkidle")
            assert await overflow(visitor.page) == [], path
        await visitor.open("/workflows/review-requirement")
        assert await violations(visitor.page, axe) == []
