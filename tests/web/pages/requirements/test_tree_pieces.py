"""A tree of thousands comes in pieces, wherever in it somebody is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Response, expect

from accord.store.store import Transaction
from tests.web.house import House, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

WIDE = {"width": 1440, "height": 820}
STORIES = 2_000
REQUIREMENTS = 5_000
PIECE = 50
LAST = f"US-{999 + STORIES}"
KINDS = {"EP": "epic", "US": "user_story", "REQ": "requirement"}
COLUMNS = (
    *("id", "kind", "number", "reference_id", "parent_id", "position", "title", "status"),
    *("priority", "type", "creator_id", "assignee_id", "created_at", "updated_at"),
)
INSERT = f"""
INSERT INTO items ({", ".join(COLUMNS)})
VALUES ({", ".join(f"${place}" for place in range(1, len(COLUMNS) + 1))})
"""


def rows(person: str) -> Iterator[tuple[Any, ...]]:
    """An epic of many stories, the last of which has many requirements."""
    now = "2026-01-01T00:00:00.000000Z"

    def row(prefix: str, number: int, above: str | None) -> tuple[Any, ...]:
        name, kind = f"{prefix}-{number}", KINDS[prefix]
        told = (f"Part {number}", "Draft", 3, "Functional" if prefix == "REQ" else None)
        place = (None if above is None else id_of(above), float(number))
        return (id_of(name), kind, number, name, *place, *told, person, person, now, now)

    yield row("EP", 900, None)
    for number in range(1_000, 1_000 + STORIES):
        yield row("US", number, "EP-900")
    for number in range(10_000, 10_000 + REQUIREMENTS):
        yield row("REQ", number, LAST)


def id_of(name: str) -> str:
    return str(uuid5(NAMESPACE_OID, name))


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def large_house(house: House) -> AsyncIterator[House]:
    person = (await house.caller("admin")).user_id

    async def fill(transaction: Transaction) -> None:
        await transaction.execute_many(INSERT, list(rows(person)))

    await house.system.runtime.store.transact(fill)
    yield house


async def test_thousands_of_rows_come_as_somebody_gets_there(
    browser: Browser, large_house: House
) -> None:
    async with visiting(browser, large_house, viewport=WIDE) as visitor:
        page = visitor.page
        pieces: list[Response] = []
        page.on("response", lambda each: pieces.append(each) if "/children" in each.url else None)
        await visitor.open("/requirements")
        await page.get_by_role("link", name="What is under EP-900").click()
        under = page.locator("#row-EP-900 + ul > li:not(.rest)")
        await expect(under).to_have_count(PIECE)
        more = page.get_by_role("link", name=f"Show more of {STORIES:,}")
        await more.scroll_into_view_if_needed()
        await expect(under).to_have_count(2 * PIECE)
        await more.focus()
        await page.keyboard.press("Enter")
        await expect(under).to_have_count(3 * PIECE)
        assert await under.locator(".id").all_inner_texts() == [
            f"US-{n}" for n in range(1_000, 1_000 + 3 * PIECE)
        ]
        assert [len(await each.body()) < 40_000 for each in pieces] == [True] * 3


async def test_the_way_to_a_far_item_is_open_and_grows_together(
    browser: Browser, large_house: House
) -> None:
    async with visiting(browser, large_house, viewport=WIDE) as visitor:
        page = visitor.page
        item = "REQ-10060"
        answer = await page.goto(f"{large_house.url}/items/{item}")
        assert answer is not None
        assert len(await answer.body()) < 120_000
        await expect(page.locator("#tree .selected")).to_have_attribute("id", f"row-{item}")
        await expect(page.locator("#tree .selected")).to_be_in_viewport()
        under = page.locator(f"#row-{LAST} + ul > li:not(.rest) .id")
        await expect(under).to_have_count(PIECE + 1)
        await page.get_by_role("link", name=f"Show more of {REQUIREMENTS:,}").click()
        await expect(under).to_have_count(2 * PIECE)
        assert await under.all_inner_texts() == [f"REQ-{n}" for n in range(10_000, 10_100)]


async def test_the_rest_of_a_list_is_a_page_without_scripts(
    browser: Browser, large_house: House
) -> None:
    async with visiting(browser, large_house, viewport=WIDE, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/requirements?open=EP-900")
        await page.get_by_role("link", name=f"Show more of {STORIES:,}").click()
        await expect(page.locator("#tree .id").first).to_have_text("US-1050")
        await page.get_by_role("link", name=f"Show more of {STORIES:,}").click()
        await expect(page.locator("#tree .id").first).to_have_text("US-1150")
        await page.get_by_role("link", name="Back to the whole tree").click()
        await expect(page.locator("#row-US-1000")).to_be_visible()
        await visitor.open("/requirements/children/US-2999")
        await expect(page.locator("#tree .id").first).to_have_text("REQ-10000")
        await expect(page.locator("#way")).to_have_text("EP-900 / US-2999")
