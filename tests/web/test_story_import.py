"""A person imports a project, finds a gap in it, and closes it."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, FilePayload, expect

from tests.web.house import House, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

WINDOW = {"width": 1440, "height": 820}
PROJECT = """\
# Harbour

## EP-001: Weighing lorries
- Status: In Progress

Lorries are weighed before they go aboard.

### US-001: Weigh on arrival
- Status: In Progress

As a lorry driver I want to be weighed on arrival so that I need not wait at the ramp.

#### AC-001

Given a lorry on the scales, when it stands still, then its weight is stored.

#### REQ-001: Store the weight
- Status: Active
- Type: Functional
- Acceptance criteria: AC-001

When a lorry stands still on the scales, the harbour system shall store its weight in kilograms.

#### REQ-002: Refuse overweight lorries
- Status: Active
- Type: Business Rule
- depends_on: REQ-001

If a lorry is heavier than 40,000 kg, then the harbour system shall refuse its boarding.

#### AC-002

Given a lorry of 41,000 kg, when it is weighed, then its boarding is refused.
"""


async def test_a_project_is_imported_and_a_gap_is_found_and_closed(
    browser: Browser, empty_house: House
) -> None:
    async with visiting(browser, empty_house, viewport=WINDOW) as visitor:
        page = visitor.page

        # Nothing is there: the page says what to do.
        await visitor.open("/traceability")
        await page.get_by_role("link", name="Import a project").click()
        await page.get_by_label("File").set_input_files(
            FilePayload(name="harbour.md", mimeType="text/markdown", buffer=PROJECT.encode())
        )
        await page.get_by_role("button", name="See what it would do").click()
        await expect(page.get_by_role("heading", name="What the import would do")).to_be_visible()
        assert (await empty_house.do("list_epics")).total == 0
        await page.get_by_role("button", name=re.compile("Import .* rows")).click()
        await expect(page.get_by_role("main")).to_contain_text("Weighing lorries")
        await page.wait_for_load_state()  # keys are heard by then

        # One of two active requirements is verified; the other is named, with what to do.
        await page.keyboard.press("g")
        await page.keyboard.press("t")
        await expect(page.locator("dl.figures")).to_contain_text("50 %")
        gap = page.locator(".gap").first
        await expect(gap).to_contain_text("Active requirements that nothing verifies")
        await expect(gap.locator("li")).to_have_count(1)
        await expect(gap.locator("li")).to_contain_text("REQ-002")
        await page.get_by_role("link", name="Matrix", exact=True).click()
        row = page.get_by_role("row", name=re.compile("^REQ-002"))
        await expect(row.get_by_role("cell").nth(1)).to_have_text("Not verified")

        # The criteria that nothing belongs to are what it lacks.
        await page.go_back()
        await page.get_by_role("link", name="Link what verifies it of REQ-002").click()
        await page.get_by_label("Item, by id or words").fill("AC-002")
        await page.get_by_role("button", name="Link", exact=True).click()
        await expect(page.get_by_text("Linked with AC-002")).to_be_visible()
        await page.keyboard.press("g")
        await page.keyboard.press("t")
        await expect(page.locator("dl.figures")).to_contain_text("100 %")
        await expect(page.locator(".gap")).to_have_count(0)
