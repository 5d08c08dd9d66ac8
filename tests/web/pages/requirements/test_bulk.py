"""Changing the tree: many items at once, all or none, and moving by keys, by dragging and by form."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

WIDE = {"width": 1440, "height": 820}


async def planted(house: House, title: str) -> tuple[str, str, str]:
    """An epic with two stories, the first of which has three requirements and criteria."""
    epic = await house.do("create_epic", title=title)
    first = await house.do("create_user_story", epic_id=epic.id, title="First")
    second = await house.do("create_user_story", epic_id=epic.id, title="Second")
    for name in ("Ask", "Check", "Answer"):
        await house.do("create_requirement", user_story_id=first.id, title=name)
    await house.do("create_acceptance_criteria", user_story_id=first.id, description="It works.")
    return epic.reference_id, first.reference_id, second.reference_id


async def names(house: House, id: str) -> list[str]:
    """The titles of what is under an item."""
    return [each.title for each in (await house.do("list_children", id=id)).items]


async def ids(house: House, id: str) -> list[str]:
    return [each.reference_id for each in (await house.do("list_children", id=id)).items]


async def rows_under(page: Page, id: str) -> list[str]:
    return await page.locator(f"#row-{id} + ul .name").all_inner_texts()


async def test_rows_that_are_ticked_are_changed_together(visitor: Visitor) -> None:
    house, page = visitor.house, visitor.page
    epic, first, _ = await planted(house, "Together")
    ask, check, *_ = await ids(house, first)
    await visitor.open(f"/requirements?open={epic},{first}")
    await page.locator(f"#row-{ask} .to").focus()
    await page.keyboard.press("x")
    await expect(page.get_by_role("checkbox", name=f"Select {ask}")).to_be_checked()
    await page.keyboard.press("j")
    await page.keyboard.press("s")
    await expect(page.locator("#ticked")).to_have_text("2 selected")
    await expect(page.get_by_label("New status")).to_be_focused()
    await page.get_by_label("New status").select_option("Active")
    await page.get_by_label("New assignee").select_option("jonas")
    await page.get_by_role("button", name="Change", exact=True).click()
    await expect(page.get_by_role("status").first).to_contain_text(
        "2 items changed: status Active, assigned to jonas"
    )
    await expect(page.locator(f"#row-{check} .chip")).to_have_text("Active")
    found = [await house.do("get_requirement", id=each) for each in (ask, check)]
    assert [(each.status, each.assignee) for each in found] == [("Active", "jonas")] * 2


async def test_all_are_changed_or_none_and_each_refusal_is_told(
    browser: Browser, house: House, axe: str
) -> None:
    epic, first, second = await planted(house, "All or none")
    async with visiting(browser, house, java_script_enabled=False, viewport=WIDE) as visitor:
        page = visitor.page
        ask, *_, criteria = await ids(house, first)
        await visitor.open(f"/requirements?open={epic},{first}")
        await page.get_by_role("link", name="Select", exact=True).click()
        for each in (ask, second, criteria):
            await page.get_by_role("checkbox", name=f"Select {each}").check()
        await page.get_by_label("New status").select_option("Done")
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("3 of 3 items cannot be changed")
        rows = await page.locator("#detail tbody tr").all_inner_texts()
        assert [each.split("\t")[0] for each in rows] == [ask, criteria, second]
        assert rows[1].endswith("Acceptance criteria has no status")
        assert "Backlog" in rows[2]
        await expect(page.get_by_role("checkbox", name=f"Select {ask}")).to_be_checked()
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_role("heading", name="Nothing was changed")).to_be_visible()
        visitor.faults.clear()  # browsers log what was answered 422
    assert (await house.do("get_user_story", id=second)).status == "Backlog"
    async with visiting(browser, house, viewport=WIDE) as visitor:
        page = visitor.page
        await visitor.open("/requirements?select=1")
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("tick some rows first")
        assert await violations(page, axe) == []
        visitor.faults.clear()


async def test_several_are_moved_under_another_parent_together(visitor: Visitor) -> None:
    house, page = visitor.house, visitor.page
    epic, first, second = await planted(house, "Together elsewhere")
    ask, _, answer, _ = await ids(house, first)
    await visitor.open(f"/requirements?open={epic},{first}")
    await page.get_by_role("link", name="Select", exact=True).click()
    for each in (ask, answer):
        await page.get_by_role("checkbox", name=f"Select {each}").check()
    await page.get_by_label("Move under").fill(second)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status").first).to_contain_text(
        f"2 items changed: under {second}"
    )
    assert await names(house, second) == ["Ask", "Answer"]


async def test_alt_and_arrows_reorder_and_go_on_to_the_next_parent(visitor: Visitor) -> None:
    house, page = visitor.house, visitor.page
    epic, first, second = await planted(house, "By keys")
    ask, check, answer, _ = await ids(house, first)
    await visitor.open(f"/requirements?open={epic},{first}")
    await page.locator(f"#row-{ask} .to").focus()
    await page.keyboard.press("Alt+ArrowDown")
    await expect(page.locator("#toasts")).to_contain_text(f"{ask} is number 2 of 3 under {first}")
    assert await rows_under(page, first) == ["Check", "Ask", "Answer", "It works."]
    await page.keyboard.press("Alt+ArrowDown")
    await page.keyboard.press("Alt+ArrowDown")
    await expect(page.locator("#toasts")).to_contain_text(f"1 of 1 under {second}")
    await expect(page.locator(f"#row-{second} + ul .name")).to_have_text(["Ask"])
    await expect(page.locator(f"#row-{ask} .to")).to_be_focused()
    await page.keyboard.press("Alt+ArrowUp")
    await expect(page.locator("#toasts")).to_contain_text(f"3 of 3 under {first}")
    assert await ids(house, first) == [check, answer, ask, (await ids(house, first))[-1]]


@pytest.mark.req("H-52")
async def test_a_move_is_undone_where_it_is_announced(visitor: Visitor) -> None:
    house, page = visitor.house, visitor.page
    epic, first, _ = await planted(house, "Moved back")
    ask, check, *rest = await ids(house, first)
    await visitor.open(f"/requirements?open={epic},{first}")
    await page.locator(f"#row-{ask} .to").focus()
    await page.keyboard.press("Alt+ArrowDown")
    await expect(page.locator("#toasts")).to_contain_text(f"{ask} is number 2 of 3")
    assert await ids(house, first) == [check, ask, *rest]
    await page.keyboard.press("u")
    await expect(page.locator(".notice")).to_contain_text("Change reverted.")
    assert visitor.path == f"/items/{ask}"
    assert await ids(house, first) == [ask, check, *rest]


async def test_rows_are_dragged_and_what_may_not_be_is_refused_with_a_reason(
    visitor: Visitor,
) -> None:
    house, page = visitor.house, visitor.page
    epic, first, second = await planted(house, "By dragging")
    ask, _, answer, criteria = await ids(house, first)
    await visitor.open(f"/requirements?open={epic},{first}")
    link = page.locator(f"#row-{answer} .to")
    await link.drag_to(page.locator(f"#row-{ask}"), target_position={"x": 150, "y": 4})
    await expect(page.locator("#toasts")).to_contain_text(f"{answer} is number 1 of 3")
    assert await rows_under(page, first) == ["Answer", "Ask", "Check", "It works."]
    await link.drag_to(page.locator(f"#row-{second}"), target_position={"x": 150, "y": 16})
    await expect(page.locator(f"#row-{second} + ul .name")).to_have_text(["Answer"])
    assert await names(house, second) == ["Answer"]
    await page.locator(f"#row-{ask} .to").drag_to(
        page.locator(f"#row-{epic}"), target_position={"x": 150, "y": 16}
    )
    await expect(page.locator("#toasts")).to_contain_text("is not a user story, it is an epic")
    await page.locator(f"#row-{second} .to").drag_to(page.locator(f"#row-{criteria}"))
    await expect(page.locator("#toasts")).to_contain_text("it is acceptance criteria")
    assert await names(house, first) == ["Ask", "Check", "It works."]
    visitor.faults.clear()  # browsers log what was answered 404


async def test_a_form_moves_without_scripts(browser: Browser, house: House, axe: str) -> None:
    _, first, second = await planted(house, "By form")
    ask, _, answer, _ = await ids(house, first)
    async with visiting(browser, house, java_script_enabled=False, viewport=WIDE) as visitor:
        page = visitor.page
        await visitor.open(f"/items/{answer}")
        await page.get_by_role("link", name="move to").click()
        await page.get_by_role("button", name=f"Move {answer}").click()
        await expect(page.get_by_role("alert")).to_contain_text("say where to")
        await page.get_by_label("Before").fill(ask)
        await page.get_by_role("button", name=f"Move {answer}").click()
        await expect(page.get_by_role("status").first).to_contain_text(
            f"{answer} is number 1 of 3 under {first} now"
        )
        visitor.faults.clear()
    async with visiting(browser, house, viewport={"width": 320, "height": 640}) as visitor:
        page = visitor.page
        await visitor.open(f"/requirements/move?id={ask}")
        assert await violations(page, axe) == []
        assert await overflow(page) == []
        await page.get_by_label("Under").fill(second)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{house.url}/items/{ask}")
    assert await names(house, second) == ["Ask"]


async def test_what_is_moved_beside_the_tree_moves_in_it(visitor: Visitor) -> None:
    house, page = visitor.house, visitor.page
    _, first, second = await planted(house, "Beside")
    ask, *_ = await ids(house, first)
    await visitor.open(f"/items/{ask}")
    await page.get_by_role("link", name="Change what it stands under").click()
    await page.locator("#menu-parent input[type=text], #menu-parent input:not([type])").fill(second)
    await page.keyboard.press("Enter")
    await expect(page.locator(f"#row-{second} + ul .name")).to_have_text(["Ask"])
    await expect(page.locator("#tree .selected")).to_have_attribute("id", f"row-{ask}")
    await expect(page.locator("#way")).to_contain_text(f"{second} / {ask}")
    assert await rows_under(page, first) == ["Check", "Answer", "It works."]
