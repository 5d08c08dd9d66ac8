"""Links to a method, and to a call that is filled in."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from playwright.async_api import expect

from tests.explorer.visit import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


async def test_a_link_opens_its_method(visit: Visit) -> None:
    await visit.open("loans.borrow")
    await visit.chose("loans.borrow")
    await visit.go("desk.echo")
    assert visit.page.url == f"{visit.url}/explore#/method/desk.echo"
    await visit.page.go_back()
    await visit.chose("loans.borrow")


async def test_a_link_fills_a_call_in_and_sends_nothing(visit: Visit) -> None:
    sent = []
    visit.page.on("request", lambda request: sent.append(request.method))
    await visit.open("books.get", f"?params={quote(json.dumps({'id': 2}))}")
    assert await visit.control("id").input_value() == "2"
    assert await visit.page.locator("#side .call > .hint").first.inner_text() == (
        "Filled in from a link. Nothing was sent."
    )
    assert "POST" not in sent


async def test_a_link_to_a_filled_call_is_copied(visit: Visit) -> None:
    await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visit.open("desk.echo")
    value = {"a&b": "c=d#e?%f+ü 12345678901234567890", "n": [1]}
    await visit.control("value").fill(json.dumps(value))
    await visit.page.get_by_label("Notification").check()
    await visit.button("Copy link").click()
    copied = await visit.page.evaluate("navigator.clipboard.readText()")
    assert copied == visit.page.url
    await visit.page.goto("about:blank")
    await visit.page.goto(copied)
    assert json.loads(await visit.params()) == {"value": value}
    assert await visit.page.get_by_label("Notification").is_checked()


async def test_params_by_position_are_filled_in(visit: Visit) -> None:
    await visit.open("books.get", f"?params={quote('[1,[]]')}")
    assert await visit.control("id").input_value() == "1"
    assert await visit.button("By position").get_attribute("aria-pressed") == "true"


async def test_a_link_with_broken_params_says_so(visit: Visit) -> None:
    await visit.open()
    for params in ("{", "7", "%", "%FF", "[" * 1000):
        await visit.page.evaluate(
            "hash => { location.hash = hash }", f"#/method/books.get?params={params}"
        )
        await expect(visit.page.locator("#params")).to_have_value(params.replace("%FF", "\ufffd"))
        assert len(await visit.problems()) == 1
        assert await visit.page.locator("#send").is_disabled()


@pytest.mark.parametrize(
    "name", ["books.gte", "%E0%A4%A", "<img src=x onerror=alert(1)>", "__proto__"]
)
async def test_a_link_to_no_method_says_so(visit: Visit, name: str) -> None:
    await visit.page.goto(f"{visit.url}/explore#/method/{name}")
    await visit.shows("No such method")
    assert await visit.page.locator("#method p code").first.inner_text() == name
    await visit.page.get_by_text("See all methods").click()
    await visit.shows("Lending library")


async def test_a_fragment_of_somebody_else_changes_nothing(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.page.evaluate("location.hash = '#elsewhere'")
    await visit.shows("books.get")
