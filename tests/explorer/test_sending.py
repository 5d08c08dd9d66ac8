"""Sending a call: the answer, the wire, headers and tokens, and everything that can go wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Route, expect

from accord import Router, serve
from accord.openrpc.explorer import explorer_pages
from tests.explorer.library import DOCUMENT
from tests.explorer.visit import Visit, lines, pages_for, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


async def test_a_result_comes_with_status_duration_and_size(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("2")
    assert await visit.send() == "Result"
    assert await visit.result() == {
        "id": 2,
        "title": "A Pattern Language",
        "kind": "reference",
        "copies": 0,
    }
    status, duration, size = (await visit.page.locator(".measure").inner_text()).split(" · ")
    assert (status, duration.endswith(" ms"), size) == ("HTTP 200", True, "101 B")


async def test_the_wire_shows_both_messages_whole(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("99")
    await visit.send()
    await visit.button("Wire").click()
    shown = visit.page.get_by_label
    assert (await shown("request headers", exact=True).inner_text()).split("\n") == [
        f"POST {visit.url}",
        "content-type: application/json",
        "accept: application/json",
    ]
    assert json.loads(await shown("request body", exact=True).inner_text()) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "books.get",
        "params": {"id": 99},
    }
    head = (await shown("response headers", exact=True).inner_text()).split("\n")
    assert head[:3] == ["HTTP 200 OK", "content-length: 96", "content-type: application/json"]
    assert json.loads(await shown("response body", exact=True).inner_text()) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": 404, "message": "There is no such book", "data": {"id": 99}},
    }


async def test_an_error_is_explained(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("99")
    assert await visit.send() == "Error 404"
    assert await lines(visit.page.locator(".answer .box")) == [
        "404 · There is no such book",
        "The API lists this error: There is no book with this number",
    ]
    assert await visit.result() == {"id": 99}
    await visit.control("id").fill("x")
    assert await visit.send() == "Error -32602"
    told = await lines(visit.page.locator(".answer .box"))
    assert told[1] == "The params do not fit the method."


async def test_a_notification_is_not_answered(visit: Visit, heard: list[Any]) -> None:
    await visit.open("desk.note")
    await visit.control("text").fill("the roof leaks")
    await visit.page.get_by_label("Notification").check()
    assert await visit.send() == "Accepted"
    assert await visit.answer() == "The server took it. A notification is never answered."
    assert heard[-1] == "the roof leaks"
    await visit.button("Wire").click()
    body = await visit.page.get_by_label("request body", exact=True).inner_text()
    assert "id" not in json.loads(body)


@pytest.mark.parametrize("how", ["button", "key"])
async def test_a_running_call_can_be_cancelled(visit: Visit, how: str) -> None:
    await visit.open("desk.sleep")
    await visit.page.click("#send")
    await visit.page.wait_for_selector("#cancel")
    if how == "button":
        await visit.page.click("#cancel")
    else:
        await visit.page.keyboard.press("Escape")
    assert await visit.verdict() == "Cancelled"
    assert "may still have done" in await visit.answer()
    assert await visit.page.locator("#send").is_enabled()


async def test_headers_and_token_go_along_and_stay_in_the_session(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.locator("summary", has_text="Headers and token").click()
    await visit.page.fill("#token", "s3cret")
    assert await visit.page.locator("#token").get_attribute("type") == "password"
    await visit.button("Add header").click()
    await visit.page.get_by_label("Name of header 1").fill("X-Desk")
    await visit.page.get_by_label("Value of header 1").fill("left")
    assert await visit.send() == "Result"
    assert await visit.result() == {
        "content-type": "application/json",
        "authorization": "Bearer s3cret",
        "x-desk": "left",
    }
    await visit.button("Wire").click()
    sent = await visit.page.get_by_label("request headers", exact=True).inner_text()
    assert sent.split("\n")[3:] == ["authorization: Bearer ••••••", "x-desk: left"]
    await visit.page.reload()
    assert await visit.send() == "Result"
    assert (await visit.result())["authorization"] == "Bearer s3cret"
    kept = await visit.page.evaluate("JSON.stringify(localStorage)")
    assert "s3cret" not in kept
    assert "left" not in kept


async def test_a_token_can_be_shown(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.locator("summary", has_text="Headers and token").click()
    await visit.button("Show").click()
    assert await visit.page.locator("#token").get_attribute("type") == "text"
    await visit.button("Hide").click()
    assert await visit.page.locator("#token").get_attribute("type") == "password"


UNSENDABLE = [
    ("Host", "x", "A browser sets this header itself."),
    ("Sec-Fetch-Site", "x", "A browser sets this header itself."),
    ("a b", "x", "A name has letters, digits and dashes."),
    ("X-A", "sn☃w", "A value has one line of Latin letters."),
]


async def test_a_header_that_cannot_be_sent_is_left_out(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.locator("summary", has_text="Headers and token").click()
    for name, value, fault in UNSENDABLE:
        await visit.button("Add header").click()
        await visit.page.get_by_label("Name of header 1").fill(name)
        await visit.page.get_by_label("Value of header 1").fill(value)
        assert await visit.problems() == [fault]
        assert await visit.send() == "Result"
        assert await visit.result() == {"content-type": "application/json"}
        await visit.page.get_by_label("Remove header 1").click()
        assert await visit.problems() == []


ANSWERS = [
    (401, "Who are you?", "HTTP 401", "set a token under “Headers and token”"),
    (502, "<h1>Bad gateway</h1>", "HTTP 502", "no JSON-RPC answer"),
    (200, "", "No answer", "empty where one was expected"),
    (200, "[1, 2]", "Not JSON-RPC", "no JSON-RPC answer"),
    (200, '{"jsonrpc": "2.0", "id": 99, "result": 1}', "No answer", ""),
    (
        400,
        '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}}',
        "Error -32700",
        "could not read the message as JSON",
    ),
]


async def test_whatever_a_server_answers_is_shown(visit: Visit) -> None:
    answers = iter(ANSWERS)

    async def answer(route: Route) -> None:
        status, body, *_ = next(answers)
        await route.fulfill(status=status, body=body, content_type="text/plain")

    await visit.open("desk.headers")
    await visit.page.route(visit.url, answer)
    for _, _, verdict, told in ANSWERS:
        await visit.page.click("#send")
        await expect(visit.page.locator("#side .answer-head .chip")).to_have_text(verdict)
        assert told in await visit.answer()
    visit.faults.clear()  # the browser logs each status from 400 on


async def test_no_answer_at_all_is_said(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.route(visit.url, lambda route: route.abort())
    assert await visit.send() == "No answer"
    assert "the server is down, out of reach, or broke off" in await visit.answer()
    visit.faults.clear()  # the browser logs it


async def test_offline_is_said_and_reading_goes_on(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.context.set_offline(True)
    assert await visit.send() == "No answer"
    assert "This computer is offline." in await visit.answer()
    await visit.go("books.get")
    await visit.shows("books.get")
    visit.faults.clear()  # the browser logs it


async def test_what_the_policy_forbids_is_said(browser: Browser) -> None:
    """As behind a proxy that sends a policy of its own."""
    strict = explorer_pages()["explore"]().headers
    page = replace(explorer_pages(endpoint="http://127.0.0.1:9/rpc")["explore"](), headers=strict)
    pages = {**pages_for(DOCUMENT), "explore": lambda: page}
    async with (
        serve(Router(), "http://127.0.0.1:0/rpc", pages=pages) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open("desk.headers")
        assert await visit.send() == "No answer"
        assert "content security policy does not allow it (connect-src)" in await visit.answer()
        assert any("connect-src" in fault for fault in visit.faults)
        visit.faults.clear()


async def test_a_very_long_answer_is_cut(visit: Visit) -> None:
    async def answer(route: Route) -> None:
        await route.fulfill(body=json.dumps({"jsonrpc": "2.0", "id": 1, "result": "x" * 9_000_000}))

    await visit.open("desk.headers")
    await visit.page.route(visit.url, answer)
    assert await visit.send() == "Too long"
    assert "longer than 8.4 MB; the rest was not read" in await visit.answer()


async def test_the_answer_is_announced(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.send()
    announcer = visit.page.locator("#announcer")
    assert await announcer.get_attribute("aria-live") == "polite"
    assert (await announcer.inner_text()).startswith("Result, after ")


async def test_json_can_be_copied(visit: Visit) -> None:
    await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visit.open("loans.borrow")
    await visit.control("book").fill("5")
    await visit.send()
    await visit.page.get_by_label("Copy result").click()
    copied = await visit.page.evaluate("navigator.clipboard.readText()")
    assert copied == '{\n  "book": 5,\n  "days": 14\n}'


async def test_where_copying_is_forbidden_the_text_is_selected(visit: Visit) -> None:
    await visit.open("loans.borrow")
    await visit.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    await visit.control("book").fill("5")
    await visit.send()
    await visit.page.get_by_label("Copy result").click()
    assert await visit.page.evaluate("getSelection().toString()") == (
        '{\n  "book": 5,\n  "days": 14\n}'
    )


async def test_one_call_runs_at_a_time(visit: Visit, heard: list[Any]) -> None:
    await visit.open("desk.sleep")
    await visit.page.click("#send")
    await visit.go("desk.note")
    await visit.control("text").fill("while asleep")
    await visit.page.keyboard.press("Control+Enter")
    await asyncio.sleep(0)
    assert "while asleep" not in heard
    await visit.page.click("#cancel")
    assert await visit.send() == "Result"
    assert heard[-1] == "while asleep"
