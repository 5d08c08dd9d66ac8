"""Prompts, the audit log, types and labels, and the explorer."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

PATHS = (
    *("/prompts", "/prompts/PROMPT-001", "/prompts/PROMPT-001/edit", "/prompts/PROMPT-001/history"),
    *("/prompts/new", "/audit?reads=true", "/audit?actor=nobody", "/audit/verification"),
    *("/settings", "/explorer"),
)


async def test_a_prompt_is_written_activated_changed_and_deleted(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    await visitor.open("/prompts")
    await page.keyboard.press("c")
    await page.get_by_label("Name").fill("kind reviewer")
    await page.get_by_label("What assistants are given").fill("Be kind.")
    await page.get_by_role("button", name="Create prompt").click()
    await expect(page.get_by_role("alert")).to_contain_text("letters, digits")
    visitor.faults.clear()  # browsers log what was answered 422
    await expect(page.get_by_label("What assistants are given")).to_have_value("Be kind.")
    await page.get_by_label("Name").fill("kind-reviewer")
    await page.get_by_role("button", name="Create prompt").click()
    await expect(page.get_by_text("is created, not active.")).to_be_visible()
    await page.get_by_role("button", name="Activate").click()
    await expect(page.get_by_role("contentinfo")).to_contain_text("kind-reviewer")
    assert (await house.do("get_active_prompt")).name == "kind-reviewer"
    await page.keyboard.press("e")
    await page.get_by_label("What assistants are given").fill("Be kind, and exact.")
    await page.get_by_role("button", name="Save prompt").click()
    await expect(page.get_by_role("region", name="Content")).to_have_text("Be kind, and exact.")
    await page.get_by_role("link", name="History").click()
    await expect(page.locator("ins").first).to_contain_text(", and exact")
    await page.go_back()
    await page.get_by_role("button", name="Deactivate").click()
    await expect(page.get_by_role("contentinfo")).to_contain_text("No active prompt")
    await page.get_by_text("Delete", exact=True).click()
    await page.get_by_role("button", name="Delete PROMPT").click()
    await expect(page.get_by_text("is deleted.")).to_be_visible()
    await house.do("activate_prompt", id="PROMPT-001")


async def test_two_who_edit_a_prompt_see_what_the_other_wrote(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    await visitor.open("/prompts/PROMPT-001/edit")
    await house.do("update_prompt", id="PROMPT-001", content="What somebody else wrote.")
    await page.get_by_label("What assistants are given").fill("What I wrote.")
    await page.get_by_role("button", name="Save prompt").click()
    await expect(page.get_by_role("region", name="Their text")).to_have_text(
        "What somebody else wrote."
    )
    await expect(page.get_by_label("What assistants are given")).to_have_value("What I wrote.")
    visitor.faults.clear()  # browsers log what was answered 412
    await page.get_by_role("button", name="Save prompt").click()
    await expect(page.get_by_role("region", name="Content")).to_have_text("What I wrote.")


async def test_who_does_not_administrate_reads_prompts(browser: Browser, house: House) -> None:
    await house.add_person("carla", "Commenter")
    async with visiting(browser, house, "carla", java_script_enabled=False) as visitor:
        await visitor.open("/prompts")
        await visitor.page.get_by_role("link", name="Requirements analyst").click()
        await expect(visitor.page.get_by_role("region", name="Content")).to_be_visible()
        for name in ("Edit", "Activate", "Deactivate", "Delete"):
            await expect(visitor.page.get_by_role("button", name=name)).to_have_count(0)
        await expect(visitor.page.get_by_role("link", name="Edit")).to_have_count(0)


async def test_the_audit_log_is_filtered_paged_and_leads_to_changes(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    for number in range(60):
        await house.do("create_label", name=f"label {number}")
    await visitor.open("/audit")
    await expect(page.get_by_role("cell", name="List runs")).to_have_count(0)
    await expect(page.get_by_role("row")).to_have_count(51)
    await page.get_by_role("link", name="Show older").click()
    await expect(page.get_by_role("row").filter(has_text="First run")).to_be_visible()
    await page.keyboard.press("f")
    await page.keyboard.type("admin")
    await page.get_by_label("Operation").fill("create_label")
    await page.get_by_label("On what").fill("label 7")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("row")).to_have_count(2)
    row = page.get_by_role("row").last
    await expect(row).to_contain_text("Done")
    await row.get_by_role("link", name="label 7").click()
    assert visitor.path.startswith("/changes/")
    await visitor.open("/audit?outcome=nonsense")
    await expect(page.get_by_role("alert")).to_be_visible()
    visitor.faults.clear()  # browsers log what was answered 422
    await visitor.open("/audit?actor=nobody")
    await page.get_by_role("link", name="Clear filters").click()
    await expect(page.get_by_role("row")).to_have_count(51)


async def test_the_chain_is_checked_on_demand_and_what_was_found_is_explained(
    visitor: Visitor,
) -> None:
    page, store = visitor.page, visitor.house.system.runtime.store
    await visitor.open("/audit")
    await page.keyboard.press("v")
    await expect(page.get_by_role("heading", name="Nothing was changed")).to_be_visible()
    await store.execute("DROP TRIGGER audit_records_no_update")
    await store.execute("UPDATE audit_records SET actor = 'mallory' WHERE operation = 'first_run'")
    await page.get_by_role("link", name="Check again").click()
    await expect(
        page.get_by_role("heading", name="The trail or the data was changed")
    ).to_be_visible()
    await expect(page.get_by_role("row").last).to_contain_text("does not say any more what it said")
    await store.execute("UPDATE audit_records SET actor = 'accord' WHERE operation = 'first_run'")
    await page.keyboard.press("v")
    await expect(page.get_by_role("heading", name="Nothing was changed")).to_be_visible()


async def test_types_and_labels_are_added_changed_and_deleted_without_a_script(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/settings")
        types = page.get_by_role("region", name="Types of requirements")
        await types.get_by_text("Add a type").click()
        await types.get_by_label("Name").fill("Legal")
        await types.get_by_role("button", name="Add type of requirements").click()
        await expect(page.get_by_text("Legal is added.")).to_be_visible()
        await types.get_by_label("Change Legal").click()
        await types.get_by_label("Description of Legal").fill("What the law asks for")
        await types.get_by_role("button", name="Save description").locator("visible=true").click()
        await expect(types.get_by_text("What the law asks for").first).to_be_visible()
        await types.get_by_label("Change Legal").click()
        await types.get_by_role("button", name="Delete Legal").click()
        await expect(page.get_by_text("Legal is deleted.")).to_be_visible()
        links = page.get_by_role("region", name="Types of relationships")
        await links.get_by_text("Add a type").click()
        await links.get_by_label("Name, such as").fill("explains")
        await links.get_by_role("button", name="Add type of relationships").click()
        await expect(page.get_by_role("alert")).to_contain_text("inverse")
        await links.get_by_text("Add a type").click()
        await links.get_by_label("Name, such as").fill("explains")
        await links.get_by_label("Name from the other end").fill("is_explained_by")
        await links.get_by_role("button", name="Add type of relationships").click()
        await expect(page.get_by_text("explains is added.")).to_be_visible()
        labels = page.get_by_role("region", name="Labels")
        await labels.get_by_label("Change safety").click()
        await labels.get_by_label("Name of safety").fill("Safety first")
        await labels.get_by_role("button", name="Save label").locator("visible=true").click()
        await expect(page.get_by_text("Safety first is changed.")).to_be_visible()
        await labels.get_by_label("Change Safety first").click()
        await labels.get_by_role("button", name="Delete Safety first").click()
        await expect(page.get_by_text("Safety first is deleted.")).to_be_visible()
        visitor.faults.clear()  # browsers log what was answered 422


async def test_methods_are_called_in_the_explorer_as_whoever_signed_in(
    visitor: Visitor, axe: str
) -> None:
    page, house = visitor.page, visitor.house
    await visitor.open("/explorer#/method/create_epic?params=%7B%22title%22%3A%22Made%20here%22%7D")
    inside = page.frame_locator("iframe")
    await inside.get_by_role("button", name="Send", exact=False).first.wait_for()
    await expect(inside.get_by_role("heading", name="create_epic")).to_be_visible()
    await inside.locator("body").press("Control+Enter")
    await expect(inside.locator(".answer-body")).to_contain_text("reference_id")
    found = await house.do("list_epics", sort="-created_at", limit=1)
    assert (found.items[0].title, found.items[0].creator) == ("Made here", "admin")
    [event] = (await house.do("list_audit_events", operation="create_epic", limit=1)).items
    assert (event.actor, event.face, event.via) == ("admin", "rpc", "session")
    assert await violations(page.frames[1], axe) == []
    await inside.get_by_role("link", name="list_epics").first.click()
    await expect(page).to_have_url(f"{house.url}/explorer#/method/list_epics")
    await inside.get_by_role("heading", name="list_epics").click()
    await page.keyboard.press("g")
    await page.keyboard.press("k")
    await page.wait_for_url(f"{house.url}/tokens")


async def test_the_explorer_says_what_to_do_without_a_script(
    browser: Browser, house: House
) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        await visitor.open("/explorer")
        inside = visitor.page.frame_locator("iframe")
        await expect(inside.locator("noscript .notice")).to_be_visible()
        link = visitor.page.get_by_role("link", name="openrpc.json")
        assert urlsplit(await link.get_attribute("href") or "").path == "/rpc/openrpc.json"


async def test_everybody_can_use_these_pages_in_both_themes_and_in_narrow_windows(
    browser: Browser, house: House, axe: str
) -> None:
    long = "w" * 100
    await house.do("create_label", name=long)
    await house.do("create_requirement_type", name=long, description=long * 5)
    await house.do("create_prompt", name="z" * 64, title="t" * 500, content="c" * 5_000)
    for scheme, paths in (("light", PATHS), ("dark", PATHS[::3])):
        async with visiting(browser, house, color_scheme=scheme) as visitor:
            for path in paths:
                await visitor.open(path)
                assert await violations(visitor.page, axe) == [], (path, scheme)
    async with visiting(browser, house, viewport={"width": 320, "height": 640}) as visitor:
        for path in (*PATHS, f"/prompts/{'z' * 64}"):
            await visitor.open(path)
            assert await overflow(visitor.page) == [], path


async def test_where_nothing_is_there_is_what_it_is_for_and_what_to_do(
    browser: Browser, empty_house: House
) -> None:
    async with visiting(browser, empty_house) as visitor:
        await visitor.open("/prompts")
        await visitor.page.get_by_role("link", name="Write a prompt").click()
        assert visitor.path == "/prompts/new"
        await visitor.open("/settings")
        await expect(visitor.page.get_by_text("None yet. Labels mark items")).to_be_visible()


@pytest.mark.req("H-54")
async def test_the_audit_log_is_about_what_people_did(visitor: Visitor, house: House) -> None:
    """Looking at pages leaves no refusals, a dry run is called one, and a token is named."""
    active = (await house.do("list_prompts", active=True)).items
    if active:
        await house.do("deactivate_prompt", id=active[0].reference_id)
    trail = house.system.runtime.trail
    await trail.flush()
    before = (await house.do("list_audit_events", outcome="refused", limit=100)).items
    # The last one asks whether an item with children may be deleted, which it may not.
    paths = ("/", "/requirements", "/search", "/traceability", "/audit", "/items/US-001/delete")
    for path in paths:
        await visitor.open(path)
    await trail.flush()
    refused = (await house.do("list_audit_events", outcome="refused", limit=100)).items
    assert [each.id for each in refused] == [each.id for each in before]
    [asked] = (await house.do("list_audit_events", outcome="dry_run", limit=1)).items
    assert (asked.operation, asked.error) == ("delete_user_story", "conflict")
    await house.do("update_requirement", id="REQ-001", title="Not now", dry_run=True)
    made = await house.do("create_token", name="the build", scopes=["read", "write"])
    headers = {"authorization": f"Bearer {made.token}"}
    async with httpx.AsyncClient(base_url=house.url, headers=headers) as client:
        answer = await client.post("/api/v1/epics", json={"title": "Made by a build"})
        assert answer.status_code == 201
    await trail.flush()
    [tried] = (await house.do("list_audit_events", outcome="dry_run", limit=1)).items
    assert tried.operation == "update_requirement"
    await visitor.open("/audit?outcome=dry_run")
    row = visitor.page.locator("tbody tr").first
    await expect(row).to_contain_text("Update requirement")
    await expect(row.locator(".chip")).to_have_text("Dry run")
    await visitor.open("/audit?operation=create_epic")
    row = visitor.page.locator("tbody tr").first
    await expect(row).to_contain_text("REST · token the build")
    if active:
        await house.do("activate_prompt", id=active[0].reference_id)
