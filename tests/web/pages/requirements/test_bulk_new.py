"""Creating items with the keyboard alone, and bringing many in and out as files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.hub.exchange.reqif_made import reqif, spec_object
from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

NARROW = {"width": 320, "height": 640}
PROJECT = """\
## EP: Lighthouses

### US: Keep the light burning
- Priority: High

As a keeper I want to see each lamp so that none goes out.

#### AC

A lamp that is out is shown within 60 s.

#### REQ: Report lamps that are out

When a lamp goes out, the station shall report it within 60 s.
"""
BROKEN = """\
kind,reference_id,parent,title,status
epic,,,Harbours,Backlog
user_story,,EP-999,Berths,Backlog
epic,EP-001,,Booking a crossing,
"""


async def test_a_row_of_requirements_is_created_by_typing(visitor: Visitor) -> None:
    house, page = visitor.house, visitor.page
    await visitor.open("/items/US-005")
    await page.keyboard.press("c")
    await page.wait_for_url("**/new?parent=US-005")
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.keyboard.type("Book for groups of up to 30")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("status").first).to_contain_text("is created")
    await expect(page.get_by_label("Title")).to_be_focused()
    await expect(page.get_by_label("Title")).to_have_value("")
    await page.keyboard.type("Name one passenger who pays")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/items/REQ-*")
    await expect(page.locator("#detail h1")).to_have_text("Name one passenger who pays")
    await expect(page.locator("#row-US-005")).to_be_visible()
    under = (await house.do("list_children", id="US-005")).items
    titles = [each.title for each in under if each.kind == "requirement"]
    assert titles[-2:] == ["Book for groups of up to 30", "Name one passenger who pays"]


async def test_every_kind_is_created_below_what_it_belongs_to(
    browser: Browser, house: House, axe: str
) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/new?parent=EP-002")
        await expect(page.get_by_label("Epic")).to_have_value("EP-002")
        await page.get_by_label("Title").fill("Swap seats")
        await page.get_by_label("Text").fill("As a passenger\nI want to swap.")
        await page.get_by_label("Priority").select_option("High")
        await page.get_by_role("button", name="Create user story").click()
        story = visitor.path.removeprefix("/items/")
        made = await house.do("get_user_story", id=story)
        assert (made.epic_reference_id, made.priority) == ("EP-002", 2)
        assert made.description == "As a passenger\nI want to swap."
        await visitor.open(f"/new?parent={story}&kind=acceptance_criteria")
        await page.get_by_label("Criteria").fill("Both agree.")
        await page.get_by_role("button", name="Create acceptance criteria").click()
        criteria = visitor.path.removeprefix("/items/")
        await visitor.open(f"/new?parent={criteria}")
        await expect(page.get_by_label("User story")).to_have_value(story)
        await page.get_by_role("link", name="Steering document").click()
        await page.get_by_label("Title").fill("Courtesy")
        await page.get_by_role("button", name="Create steering document").click()
        await expect(page.locator("#detail h1")).to_have_text("Courtesy")
    async with visiting(browser, house, viewport=NARROW, color_scheme="dark") as visitor:
        page = visitor.page
        await visitor.open("/new?kind=requirement&title=Typed before")
        assert await violations(page, axe) == []
        assert await overflow(page) == []
        await expect(page.get_by_label("Title")).to_have_value("Typed before")
        await page.get_by_label("User story").fill("EP-001")
        await page.get_by_role("button", name="Create requirement").click()
        await expect(page.get_by_role("alert")).to_contain_text("EP-001 is not a user story")
        await expect(page.get_by_label("Title")).to_have_value("Typed before")
        await page.get_by_label("User story").fill("US-001")
        await page.get_by_label("Title").fill("Tab\there")
        await page.get_by_role("link", name="Acceptance criteria").click()
        await expect(page.get_by_label("User story")).to_have_value("")
        visitor.faults.clear()  # browsers log what was answered 404


@pytest.mark.req("H-52")
async def test_what_was_created_is_undone_where_it_is_announced(visitor: Visitor) -> None:
    """The page of an item that is gone again is no place to go back to."""
    page = visitor.page
    await visitor.open("/new?kind=epic")
    await page.get_by_label("Title").fill("A mistake")
    await page.get_by_role("button", name="Create epic").click()
    await expect(page.locator(".notice")).to_contain_text("is created")
    await page.keyboard.press("u")
    await expect(page.locator(".notice")).to_contain_text("Change reverted.")
    assert visitor.path.startswith("/changes/")
    await page.keyboard.press("u")
    await expect(page.locator("main")).to_contain_text("A mistake")


async def test_what_is_wrong_stands_at_its_field(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/new?kind=epic")
    await page.get_by_label("Title").evaluate("field => field.removeAttribute('maxlength')")
    await page.get_by_label("Title").fill("x" * 501)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Title")).to_have_attribute("aria-invalid", "true")
    await expect(page.locator("#fault-title")).to_contain_text("500")
    visitor.faults.clear()  # browsers log what was answered 422


async def test_a_file_is_tried_before_it_is_imported(
    browser: Browser, house: House, axe: str, tmp_path: Path
) -> None:
    file = tmp_path / "lights.md"
    file.write_text(PROJECT)
    async with visiting(browser, house) as visitor:
        page = visitor.page
        await visitor.open("/import")
        assert await violations(page, axe) == []
        await page.get_by_label("File").set_input_files(file)
        await page.get_by_role("button", name="See what it would do").click()
        await expect(page.get_by_role("heading", name="What the import would do")).to_be_visible()
        await expect(page.locator(".report tbody tr")).to_have_count(4)
        assert await violations(page, axe) == []
        before = (await house.do("list_epics", limit=1)).total
        await page.get_by_role("button", name="Import 4 rows").click()
        await expect(page.get_by_role("status").first).to_contain_text(
            "Imported: 4 created and 0 changed"
        )
        await expect(page.locator("#tree .name").last).to_have_text("Lighthouses")
        assert (await house.do("list_epics", limit=1)).total == before + 1


async def test_rows_that_fail_are_told_and_can_be_left_out(browser: Browser, house: House) -> None:
    async with visiting(browser, house, java_script_enabled=False, viewport=NARROW) as visitor:
        page = visitor.page
        await visitor.open("/import")
        await page.get_by_role("button", name="See what it would do").click()
        await expect(page.get_by_role("alert")).to_contain_text("choose a file")
        await page.get_by_label("Or paste it").fill(BROKEN)
        await page.get_by_role("button", name="See what it would do").click()
        first = page.locator(".report tbody tr").first
        await expect(first).to_contain_text("Failed")
        await expect(first).to_contain_text("EP-999")
        assert await overflow(page) == []
        await page.get_by_role("button", name="Import 1 row, leave out 1").click()
        await expect(page.get_by_role("status").first).to_contain_text(
            "Imported: 1 created and 0 changed, 1 left out"
        )
        await visitor.open("/import")
        await page.get_by_label("Or paste it").fill("{no json")
        await page.get_by_role("button", name="See what it would do").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_label("Or paste it")).to_have_value("{no json")
        visitor.faults.clear()  # browsers log what was answered 422


@pytest.mark.req("H-22", "H-23", "H-25")
async def test_a_file_of_another_tool_has_a_source(
    browser: Browser, house: House, axe: str, tmp_path: Path
) -> None:
    """An archive is tried, the report names what is not kept, and a conflict asks for the source."""
    brake, coffee = tmp_path / "brake.reqifz", tmp_path / "coffee.reqif"
    with zipfile.ZipFile(brake, "w") as made:
        made.writestr("brake.reqif", reqif(spec_object("REQ-1", "It holds.", RATIONALE="x")))
    coffee.write_text(reqif(spec_object("REQ-1", "It brews."), title="Coffee"))
    async with visiting(browser, house) as visitor:
        page = visitor.page
        await visitor.open("/import")
        await page.get_by_label("File").set_input_files(brake)
        await page.get_by_role("button", name="See what it would do").click()
        await page.get_by_text("Not kept: 2 parts of the file").click()
        await expect(page.get_by_role("cell", name="RATIONALE", exact=True)).to_be_visible()
        assert await violations(page, axe) == []
        await page.get_by_role("button", name="Import 3 rows").click()
        await visitor.open("/import")
        await page.get_by_label("File").set_input_files(coffee)
        await page.get_by_role("button", name="See what it would do").click()
        await expect(page.locator(".report .fault").first).to_contain_text("name the source")
        assert await violations(page, axe) == []
        assert await overflow(page) == []
        await page.get_by_label("Source", exact=True).fill("coffee")
        await page.get_by_role("button", name="See what it would do now").click()
        await expect(page.get_by_text("From coffee.")).to_be_visible()
        await page.get_by_role("button", name="Import 3 rows").click()
        await expect(page.get_by_role("status").first).to_contain_text(
            "Imported: 3 created and 0 changed"
        )
        await visitor.open("/import")
        coffee.write_bytes(b"<a>\xff</a>")
        await page.get_by_label("File").set_input_files(coffee)
        await page.get_by_role("button", name="See what it would do").click()
        await expect(page.get_by_role("alert")).to_contain_text("this is no text in utf-8")
        visitor.faults.clear()  # browsers log what was answered 422


async def test_what_is_exported_can_be_imported_again(
    browser: Browser, house: House, axe: str, tmp_path: Path
) -> None:
    async with visiting(browser, house, accept_downloads=True) as visitor:
        page = visitor.page
        await visitor.open("/export")
        assert await violations(page, axe) == []
        for format, name in (
            ("Markdown", "EP-003-requirements.md"),
            ("CSV", "EP-003-requirements.csv"),
            ("JSON", "EP-003-requirements.json"),
            ("ReqIF", "EP-003-requirements.reqif"),
        ):
            await visitor.open("/export?epic_id=EP-003")
            await page.get_by_label("Format").select_option(format)
            async with page.expect_download() as downloading:
                await page.get_by_role("button", name="Download the file").click()
            download = await downloading.value
            assert download.suggested_filename == name
            await download.save_as(tmp_path / name)
            await visitor.open("/import")
            await page.get_by_label("File").set_input_files(tmp_path / name)
            await page.get_by_role("button", name="See what it would do").click()
            await expect(page.locator(".hint").first).to_contain_text(f"{format}, ")
            figures = await page.locator(".figures dd").all_inner_texts()
            assert [figures[0], figures[1], figures[3]] == ["0", "0", "0"]
