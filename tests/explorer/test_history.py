"""What was sent, kept in the browser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Browser

from tests.explorer.visit import Visit, lines, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


async def kept(visit: Visit) -> Any:
    key = f"accord-explorer.history {visit.url}"
    return json.loads(await visit.page.evaluate("key => localStorage.getItem(key)", key))


async def rows(visit: Visit) -> list[list[str]]:
    await visit.page.click("#tab-history")
    return [await lines(row) for row in await visit.page.locator(".history-row").all()]


async def test_calls_are_listed_newest_first(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("1")
    await visit.send()
    await visit.control("id").fill("99")
    await visit.send()
    assert await rows(visit) == [
        ["books.get", '{"id":99}', "Error 404", "just now", "Send again"],
        ["books.get", '{"id":1}', "Result", "just now", "Send again"],
    ]


async def test_a_call_is_opened_or_sent_again_after_a_reload(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("2")
    await visit.send()
    await visit.open()
    await visit.page.click("#tab-history")
    await visit.page.locator(".history-row .batch-open").click()
    assert await visit.control("id").input_value() == "2"
    assert await visit.page.locator(".answer").count() == 0
    await visit.page.click("#tab-history")
    await visit.button("Send books.get again").click()
    assert await visit.verdict() == "Result"
    assert (await visit.result())["title"] == "A Pattern Language"
    assert len(await rows(visit)) == 2


async def test_a_batch_is_sent_again(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.click("#add-to-batch")
    await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")
    await visit.page.click("#send-batch")
    assert await visit.verdict() == "2 answered"
    await visit.open()
    await visit.page.click("#tab-history")
    await visit.button("Send Batch of 2 again").click()
    assert await visit.verdict() == "2 answered"


async def test_only_calls_are_kept_never_headers_or_answers(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.page.locator("summary", has_text="Headers and token").click()
    await visit.page.fill("#token", "s3cret")
    await visit.control("id").fill("1")
    await visit.send()
    (entry,) = await kept(visit)
    assert entry.pop("at") > 0
    assert entry.pop("milliseconds") >= 0
    assert entry == {
        "calls": [{"method": "books.get", "params": {"id": 1}, "notification": False}],
        "batch": False,
        "outcome": "ok",
        "word": "Result",
    }


async def test_the_history_is_bounded(visit: Visit) -> None:
    await visit.open()
    await visit.page.evaluate(
        """async () => {
            const { History } = await import("./explore/history.js");
            const history = new History(location.origin + "/rpc");
            const call = (params) => ({ method: "m", params, notification: false });
            const entry = { at: 1, batch: false, outcome: "ok", word: "Result", milliseconds: 1 };
            for (let n = 0; n < 60; n += 1) history.add({ ...entry, calls: [call([n])] });
        }"""
    )
    assert [entry["calls"][0]["params"] for entry in await kept(visit)] == [
        [number] for number in range(59, 9, -1)
    ]
    await visit.page.evaluate(
        """async () => {
            const { History } = await import("./explore/history.js");
            const call = { method: "m", params: ["x".repeat(40_000)], notification: false };
            const entry = { at: 1, calls: [call], batch: false, outcome: "ok", word: "", milliseconds: 1 };
            const history = new History(location.origin + "/rpc");
            for (let n = 0; n < 5; n += 1) history.add(entry);
        }"""
    )
    assert len(await kept(visit)) == 2


async def test_the_history_can_be_cleared(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.send()
    await visit.page.click("#tab-history")
    await visit.button("Clear history").click()
    assert "Nothing sent yet" in await visit.page.locator("#side").inner_text()
    assert await kept(visit) == []


@pytest.mark.parametrize("words", ["nonsense", "7", '[1, {"calls": 3}, {"calls": [null]}]'])
async def test_what_others_wrote_into_storage_does_no_harm(visit: Visit, words: str) -> None:
    await visit.open()
    await visit.page.evaluate(
        """([url, words]) => {
            localStorage.setItem(`accord-explorer.history ${url}`, words);
            localStorage.setItem("accord-explorer.theme", words);
            sessionStorage.setItem("accord-explorer.headers", words);
        }""",
        [visit.url, words],
    )
    await visit.open("desk.headers")
    assert await rows(visit) == []


async def test_without_storage_everything_else_works(browser: Browser, url: str) -> None:
    async with visiting(browser, url) as visit:
        await visit.page.add_init_script(
            """for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(
                window, name, { get() { throw new DOMException("no", "SecurityError"); } })"""
        )
        await visit.open("desk.headers")
        assert await visit.send() == "Result"
        assert len(await rows(visit)) == 1
