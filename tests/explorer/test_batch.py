"""Several calls in one message."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Route

from tests.explorer.visit import Visit, lines

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


async def gather(visit: Visit) -> None:
    """A batch of three: two calls, of which one fails, and a notification."""
    await visit.open("books.get")
    for number in ("1", "99"):
        await visit.control("id").fill(number)
        await visit.page.click("#add-to-batch")
    await visit.go("desk.note")
    await visit.control("text").fill("hello")
    await visit.page.get_by_label("Notification").check()
    await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")


async def rows(visit: Visit) -> list[list[str]]:
    return [await lines(row) for row in await visit.page.locator(".batch-open").all()]


async def test_answers_are_matched_with_their_requests(visit: Visit) -> None:
    await gather(visit)
    assert await visit.page.locator("#tab-batch").inner_text() == "Batch 3"
    await visit.page.click("#send-batch")
    assert await visit.verdict() == "1 of 3 failed"
    answers = visit.page.locator(".batch-answer")
    heads = [await lines(each) for each in await answers.locator(".batch-answer-head").all()]
    assert heads == [
        ["books.get", "id 1", "Result"],
        ["books.get", "id 2", "Error 404"],
        ["desk.note", "notification", "No answer expected"],
    ]
    assert "The Left Hand of Darkness" in await answers.nth(0).inner_text()
    assert "There is no such book" in await answers.nth(1).inner_text()
    await visit.button("Wire").click()
    body = json.loads(await visit.page.get_by_label("request body", exact=True).inner_text())
    assert [message["method"] for message in body] == ["books.get", "books.get", "desk.note"]


async def test_answers_in_another_order_too_many_or_too_few_are_told_apart(visit: Visit) -> None:
    async def answer(route: Route) -> None:
        answers = [
            {"jsonrpc": "2.0", "id": 2, "result": "two"},
            {"jsonrpc": "2.0", "id": 77, "result": "whose?"},
        ]
        await route.fulfill(json=answers)

    await gather(visit)
    await visit.page.route(visit.url, answer)
    await visit.page.click("#send-batch")
    assert await visit.verdict() == "No answer"
    heads = visit.page.locator(".batch-answer .batch-answer-head")
    assert [await lines(each) for each in await heads.all()] == [
        ["books.get", "id 1", "No answer"],
        ["books.get", "id 2", "Result"],
        ["desk.note", "notification", "No answer expected"],
        ["An answer to none of the requests", "Result"],
    ]


async def test_calls_are_put_in_order_and_removed(visit: Visit) -> None:
    await gather(visit)
    first, second, third = (
        ["books.get", '{"id":1}'],
        ["books.get", '{"id":99}'],
        ["desk.note", "notification", '{"text":"hello"}'],
    )
    assert await rows(visit) == [first, second, third]
    await visit.button("Move desk.note up").click()
    assert await rows(visit) == [first, third, second]
    assert await visit.page.evaluate("document.activeElement.ariaLabel") == "Move desk.note up"
    await visit.button("Move books.get down").first.click()
    assert await rows(visit) == [third, first, second]
    await visit.button("Remove books.get from the batch").first.click()
    assert await rows(visit) == [third, second]
    await visit.button("Remove all").click()
    assert "No calls in the batch" in await visit.page.locator("#side").inner_text()
    assert await visit.page.locator("#tab-batch").inner_text() == "Batch"


async def test_a_call_of_a_batch_can_be_opened(visit: Visit) -> None:
    await gather(visit)
    await visit.page.locator(".batch-open").nth(1).click()
    await visit.chose("books.get")
    assert await visit.control("id").input_value() == "99"


async def test_a_batch_is_sent_by_key_and_can_be_cancelled(visit: Visit) -> None:
    await visit.open("desk.sleep")
    await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")
    await visit.page.keyboard.press("Control+Enter")
    await visit.page.click("#cancel")
    assert await visit.verdict() == "Cancelled"


async def test_changing_the_call_does_not_change_the_batch(visit: Visit) -> None:
    await visit.open("books.add")
    await visit.control("book/title").fill("one")
    await visit.page.click("#add-to-batch")
    await visit.control("book/title").fill("two")
    await visit.page.click("#tab-batch")
    assert await rows(visit) == [["books.add", '{"book":{"title":"one"}}']]
