"""Finding a method: groups, search, keys."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from tests.explorer.visit import Visit, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]

BOOKS = ["books.get", "books.search", "books.add", "books.remove"]
SEARCHES: list[tuple[str, list[str]]] = [
    ("books.get", ["books.get"]),
    ("bget", ["books.get"]),
    ("GET", ["books.get"]),
    ("title", ["books.search"]),
    ("staff", ["books.add", "books.remove"]),
    ("books add", ["books.add"]),
    ("echo", ["desk.echo"]),
    ("zzz", []),
]
DESK = ["desk.note", "desk.echo", "desk.sleep", "desk.headers"]


async def test_methods_are_grouped_by_tag_or_else_by_namespace(visit: Visit) -> None:
    await visit.open()
    groups = await visit.page.locator("#list summary").all_inner_texts()
    assert [group.split() for group in groups] == [
        ["books", "4"],
        ["loans", "1"],
        ["shelves", "1"],
        ["desk", "4"],
    ]
    assert await visit.methods() == [*BOOKS, "loans.borrow", "shelves.tree", *DESK]


async def test_the_first_page_says_what_the_api_is_and_lists_everything(visit: Visit) -> None:
    await visit.open()
    await visit.shows("Lending library")
    assert await visit.page.locator("#method .index").count() == 10
    facts = await visit.page.locator("#method .facts > div").all_inner_texts()
    assert facts == [
        "OpenRPC\n1.3.2",
        "Licence\nApache-2.0",
        "Contact\nThe desk",
        "Mail\ndesk@library.example",
        "Server\nhere",
    ]
    await visit.page.locator("#method .index", has_text="books.add").click()
    await visit.shows("books.add")
    assert await visit.page.title() == "books.add · Lending library"


async def test_deprecated_methods_are_marked(visit: Visit) -> None:
    await visit.open()
    assert await visit.page.locator("#list a", has_text="deprecated").all_inner_texts() == [
        "books.remove\ndeprecated"
    ]


async def test_search_looks_at_names_summaries_and_tags(visit: Visit) -> None:
    await visit.open()
    for query, found in SEARCHES:
        await visit.page.fill("#search", query)
        assert await visit.methods() == found
        said = await visit.page.locator("#list .found").inner_text()
        assert said == (f"{len(found)} of 10 methods" if found else f"No method matches “{query}”.")


async def test_what_matched_is_marked(visit: Visit) -> None:
    await visit.open()
    await visit.page.fill("#search", "bget")
    assert await visit.page.locator("#list mark").all_inner_texts() == ["b", "g", "e", "t"]


async def test_everything_can_be_reached_from_the_keyboard(visit: Visit) -> None:
    await visit.open()
    press = visit.page.keyboard.press
    await press("j")
    await visit.chose("books.get")
    await press("j")
    await press("j")
    await press("k")
    await visit.chose("books.search")
    await press("/")
    await visit.page.keyboard.type("borrow")
    await press("Enter")
    await visit.chose("loans.borrow")
    await press("Enter")
    await visit.page.keyboard.type("7")
    await press("Control+Enter")
    assert await visit.verdict() == "Result"
    assert await visit.result() == {"book": 7, "days": 14}
    await press("Escape")
    await press("?")
    sheet = visit.page.locator("#sheet")
    assert await sheet.get_by_role("heading").inner_text() == "Keys"
    await press("Escape")
    assert not await sheet.is_visible()


async def test_arrows_go_through_what_was_found(visit: Visit) -> None:
    await visit.open()
    await visit.page.fill("#search", "desk")
    await visit.page.keyboard.press("ArrowDown")
    await visit.page.keyboard.press("ArrowDown")
    await visit.chose("desk.echo")
    assert await visit.page.evaluate("document.activeElement.id") == "search"


async def test_keys_do_nothing_while_somebody_types(visit: Visit) -> None:
    await visit.open("desk.note")
    await visit.control("text").press_sequentially("j/k?")
    assert await visit.control("text").input_value() == "j/k?"
    await visit.chose("desk.note")


async def test_groups_can_be_closed(visit: Visit) -> None:
    await visit.open()
    await visit.page.locator("#list summary", has_text="books").click()
    await visit.page.keyboard.press("Tab")
    await visit.page.locator("body").press("j")
    await visit.chose("loans.borrow")


async def test_a_tag_leads_to_what_else_has_it(visit: Visit) -> None:
    await visit.open("books.add")
    await visit.page.locator("#method .kind").get_by_text("staff").click()
    assert await visit.methods() == ["books.add", "books.remove"]


async def test_on_a_small_screen_the_list_is_a_menu(browser: Browser, url: str) -> None:
    async with visiting(browser, url, viewport={"width": 320, "height": 640}) as visit:
        await visit.open("books.get")
        assert not await visit.page.locator("#rail").is_visible()
        await visit.button("Methods").click()
        assert await visit.page.locator("#menu").get_attribute("aria-expanded") == "true"
        await visit.page.locator("#list a", has_text="books.get").click()
        assert not await visit.page.locator("#rail").is_visible()
        await visit.button("Methods").click()
        menu = await visit.page.locator("#rail").bounding_box()
        assert menu == {"x": 0, "y": 48, "width": 320, "height": 592}
        await visit.page.locator("#list a", has_text="desk.echo").click()
        assert not await visit.page.locator("#rail").is_visible()
        await visit.shows("desk.echo")
        await visit.button("Fill in the call").click()
        await visit.page.keyboard.type('"hello"')
        assert await visit.send() == "Result"
        assert await visit.result() == "hello"
