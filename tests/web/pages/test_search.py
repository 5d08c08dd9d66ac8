"""Search: words and filters, what was found, and views that are kept."""

from __future__ import annotations

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

PAYLOAD = "<img src=x onerror=alert(1)>"


async def test_words_and_filters_find_as_one_types(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/search")
    await expect(page.get_by_text("Changed last")).to_be_visible()
    await page.keyboard.type("refund")
    await expect(page.locator("#found mark").first).to_have_text("refund")
    await page.locator("#field-kind").click()
    await page.get_by_role("checkbox", name="Acceptance criteria").check()
    await page.wait_for_url("**/search?q=refund&kind=acceptance_criteria")
    kinds = page.locator(".found .kind")
    await expect(kinds.first).to_have_text("Acceptance criteria")
    assert set(await kinds.all_inner_texts()) == {"Acceptance criteria"}
    await page.get_by_role("checkbox", name="Acceptance criteria").uncheck()
    await page.keyboard.press("Escape")
    await page.get_by_label("Words or an id").fill("refnud")
    await expect(page.get_by_text("showing results for refund")).to_be_visible()
    await page.get_by_label("Words or an id").fill("zebra giraffe")
    await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_text("showing results for refund")).to_be_visible()


@pytest.mark.req("H-57")
@pytest.mark.parametrize("width", [1440, 390])
async def test_a_filter_takes_several_values_and_nobody(
    browser: Browser, house: House, width: int
) -> None:
    for name, assignee in (
        ("Turnstile one", None),
        ("Turnstile two", "aylin"),
        ("Turnstile", "ines"),
    ):
        await house.do("create_epic", title=name, assignee=assignee)
    async with visiting(browser, house, viewport={"width": width, "height": 820}) as visitor:
        page = visitor.page
        await visitor.open("/search?q=turnstile&kind=epic")
        field = page.locator("#field-assignee")
        await field.click()
        await page.get_by_role("checkbox", name="Nobody").check()
        await page.wait_for_url("**&assignee=unassigned")
        await expect(page.locator(".found .title")).to_have_text(["Turnstile one"])
        await page.get_by_placeholder("Another person").fill("aylin")
        await page.get_by_placeholder("Another person").press("Tab")
        await page.wait_for_url("**&assignee=aylin&assignee=unassigned")
        await expect(page.locator(".found .title")).to_have_text(["Turnstile two", "Turnstile one"])
        await expect(field).to_contain_text("Nobody, aylin")
        assert await overflow(page) == []
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("checkbox", name="Nobody")).to_be_hidden()
        await expect(field).to_be_focused()
        await page.reload()
        await expect(field).to_contain_text("Nobody, aylin")
        await page.get_by_text("Save as view").click()
        await page.get_by_label("Name").fill(f"Turnstiles {width}")
        await page.get_by_role("button", name="Save view").click()
        await expect(page.get_by_text("Saved as Turnstiles")).to_be_visible()
        [view] = [each for each in (await house.do("list_views")).items if str(width) in each.name]
        assert view.filter.assignee == ["aylin", "unassigned"]
        await visitor.open(f"/views/{view.id}")
        await expect(page.locator(".found .title")).to_have_text(["Turnstile two", "Turnstile one"])
        await expect(page.get_by_role("button", name="Update view")).to_have_count(0)
    await house.do("delete_view", id=view.id)
    for each in (await house.do("search_global", query="turnstile", kinds=["epic"])).items:
        await house.do("delete_epic", id=each.reference_id)


async def test_rows_are_walked_and_opened_by_keyboard(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/search?q=refund&kind=requirement")
    rows = page.locator("[data-row]")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    await expect(rows.first).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_label("Words or an id")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(rows.first).to_be_focused()
    await page.keyboard.press("j")
    reference = await rows.nth(1).locator(".id").inner_text()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{visitor.house.url}/items/{reference}")


async def test_more_is_shown_below_what_is_there(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/search?kind=requirement")
    await expect(page.locator("[data-row]")).to_have_count(25)
    await page.get_by_role("link", name="Show more").click()
    await expect(page.locator("[data-row]")).to_have_count(50)
    references = await page.locator(".found .id").all_inner_texts()
    assert len(set(references)) == 50


async def test_an_id_opens_the_item_itself(visitor: Visitor) -> None:
    await visitor.open("/search?q=req-12")
    assert visitor.path == "/items/REQ-012"
    await visitor.open("/search?q=REQ-012&kind=requirement")
    assert visitor.path == "/search?q=REQ-012&kind=requirement"


async def test_a_view_is_saved_opened_changed_shared_and_deleted(visitor: Visitor) -> None:
    page = visitor.page
    views = page.get_by_role("navigation", name="Saved views")
    await visitor.open("/search?q=refund&status=Active")
    await page.get_by_text("Save as view").click()
    await page.get_by_label("Name").fill("Refunds that hold")
    await page.get_by_role("button", name="Save view").click()
    await expect(page.get_by_role("status").filter(has_text="Saved as")).to_be_visible()
    await visitor.open("/search")
    await views.get_by_role("link", name="Refunds that hold").click()
    await expect(page.get_by_label("Words or an id")).to_have_value("refund")
    await expect(page.locator("#field-status")).to_contain_text("Active")
    await expect(views.locator("[aria-current=page]")).to_contain_text("Refunds that hold")
    await page.locator("#field-status").click()
    await page.get_by_role("checkbox", name="Draft").check()
    await expect(page.locator("#field-status")).to_contain_text("Draft, Active")
    await page.get_by_role("button", name="Update view").click()
    await expect(page.get_by_text("Refunds that hold shows this now")).to_be_visible()
    await page.get_by_role("button", name="Share with everybody").click()
    await expect(views.get_by_text("shared")).to_be_visible()
    [view] = (await visitor.house.do("list_views")).items
    assert (view.filter.status, view.shared) == (["Active", "Draft"], True)
    page.once("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Delete view").click()
    await expect(page.get_by_text("Deleted the view Refunds that hold")).to_be_visible()
    assert (await visitor.house.do("list_views")).total == 0


async def test_a_shared_view_is_there_for_others_who_leave_it_as_it_is(
    browser: Browser, house: House
) -> None:
    await house.add_person("search-carl", "Commenter")
    view = await house.do(
        "create_view", name="All stories", filter={"kind": "user_story"}, shared=True
    )
    private = await house.do("create_view", name="Mine alone", filter={"query": "x"})
    async with visiting(browser, house, "search-carl") as visitor:
        page = visitor.page
        await visitor.open(f"/views/{view.id}")
        await expect(page.locator("#field-kind")).to_contain_text("User story")
        for gone in ("Delete view", "Share with everybody", "Stop sharing"):
            await expect(page.get_by_role("button", name=gone)).to_have_count(0)
        await expect(page.get_by_text("Save as")).to_have_count(0)
        await expect(page.get_by_text("Mine alone")).to_have_count(0)
        await visitor.open(f"/views/{private.id}")
        await expect(page.get_by_role("heading", name="There is no such thing")).to_be_visible()
        visitor.faults.clear()  # browsers log what was answered 404
    for each in (view, private):
        await house.do("delete_view", id=each.id)


async def test_a_filter_that_names_nobody_says_so_and_keeps_what_was_typed(
    visitor: Visitor,
) -> None:
    page = visitor.page
    await visitor.open("/search?q=refund&assignee=nobody-of-that-name")
    await expect(page.get_by_role("alert")).to_contain_text("nobody-of-that-name")
    await expect(page.get_by_label("Words or an id")).to_have_value("refund")
    visitor.faults.clear()  # browsers log what was answered 422


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/search?cursor=abc", 422),
        ("/search?q=%00", 422),
        ("/search?priority=9", 422),
        ("/search?epic=EP-999", 404),
        ("/search?view=%00", 200),
        (f"/search?q={'%F0%9F%9A%80' * 400}", 200),
        ("/palette?q=%00", 422),
        ("/palette?at=//evil.example/", 200),
        ("/home/changes?cursor=abc", 422),
        ("/views/none", 404),
    ],
)
async def test_addresses_that_make_no_sense_are_answered_calmly(
    house: House, path: str, status: int
) -> None:
    cookies = {"accord_session": await house.session()}
    async with httpx.AsyncClient(base_url=house.url, cookies=cookies) as client:
        whole = await client.get(path)
        piece = await client.get(path, headers={"HX-Request": "true"})
    assert (whole.status_code, piece.status_code) == (status, status)
    assert "evil.example" not in whole.text


async def test_it_works_without_scripts(browser: Browser, house: House) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/search")
        await page.get_by_label("Words or an id").fill("refund")
        await page.locator("#field-status").click()
        await page.get_by_role("checkbox", name="Active").check()
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_role("link", name="Refund saver fares")).to_be_visible()
        await page.get_by_text("Save as view").click()
        await page.get_by_label("Name").fill("Plain")
        await page.get_by_role("button", name="Save view").click()
        await expect(page.get_by_text("Saved as Plain")).to_be_visible()
        await page.get_by_role("button", name="Delete view").click()
        await expect(page.get_by_text("Deleted the view Plain")).to_be_visible()
        await visitor.open("/search?kind=requirement")
        first = await page.locator(".found .id").first.inner_text()
        await page.get_by_role("link", name="Show more").click()
        await expect(page.locator(".found .id").first).not_to_have_text(first)


async def test_long_and_hostile_texts_fit_and_do_nothing(
    browser: Browser, house: House, axe: str
) -> None:
    await house.do(
        "create_epic", title=f"{PAYLOAD} {'W' * 400}", description=f"hostile {PAYLOAD} " * 20
    )
    await house.do(
        "create_view", name=f"{PAYLOAD}{'V' * 60}", filter={"query": PAYLOAD}, shared=True
    )
    for scheme, width in (("dark", 1440), ("light", 320)):
        async with visiting(
            browser, house, color_scheme=scheme, viewport={"width": width, "height": 820}
        ) as visitor:
            page = visitor.page
            await visitor.open("/search?q=hostile+img")
            await expect(page.locator(".found .title")).to_contain_text(PAYLOAD)
            assert await overflow(page) == []
            assert await violations(page, axe) == []
    async with visiting(browser, house) as visitor:
        await visitor.open(f"/search?q={'%3Cscript%3E' * 20}")
        assert await violations(visitor.page, axe) == []


async def test_an_empty_system_says_what_is_found_here(
    browser: Browser, empty_house: House, axe: str
) -> None:
    async with visiting(browser, empty_house) as visitor:
        await visitor.open("/search")
        await expect(
            visitor.page.get_by_role("heading", name="Nothing to find yet")
        ).to_be_visible()
        assert await violations(visitor.page, axe) == []
