"""Filling a call in: the form, the JSON beside it, and what is said to be wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.explorer.visit import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


CHECKED = [
    ("books.get", "{}", ["id “id” is required."]),
    ("books.get", '{"id": 0}', ["id Must be at least 1."]),
    ("books.get", '{"id": "x"}', ["id Must be an integer, not a string."]),
    ("books.get", '{"id": 1.5}', ["id Must be an integer, not a number."]),
    ("books.get", '{"id": 1, "no": 2}', ["“no” is no parameter of this method."]),
    ("books.get", "[1, null, 3]", ["There are 3 params for 2 places."]),
    ("books.get", '{"id": 1, "fields": ["id", "id"]}', ["fields No item may be there twice."]),
    ("books.get", '{"id": 1, "fields": ["x"]}', ['fields/0 Must be "id" or "title" or "kind" or "copies".']),
    ("books.add", "[]", ["This method takes its params by name.", "book “book” is required."]),
    ("books.add", '{"book": {"title": "", "kind": "novel", "owner": 3, "x": 1}}', [
        "book/title Must have at least 1 character.",
        "book/owner Fits none of: Person or House.",
        "book/x “x” is not known here.",
    ]),
    ("books.add", '{"book": {"title": "T", "kind": "novel", "isbn": "1", "owner": {"type": "person", "name": ""}}}', [
        "book/isbn Must match ^97[89]-[0-9-]+$.",
    ]),
    ("books.get", '{"id": 1,}', ["Unexpected } at line 1, column 10."]),
    ("books.get", '{\n  "id": 1\n', ["The text ends where } should be at line 3, column 1."]),
    ("books.get", "{'id': 1}", ["Unexpected 'id': at line 1, column 2."]),
    ("books.get", "7", ["Params are an object or an array."]),
]  # fmt: skip


async def params(visit: Visit) -> Any:
    return json.loads(await visit.params())


async def test_every_kind_of_field_writes_its_value(visit: Visit) -> None:
    await visit.open("books.add")
    await visit.control("book/title").fill("Möbius\n“strips”")
    await visit.control("book/kind").select_option("poetry")
    await visit.control("book/year").fill("1975")
    await visit.control("book/lent").select_option("false")
    await visit.field("book/authors").get_by_role("button", name="Add authors").click()
    await visit.field("book/authors").get_by_role("button", name="Add item").click()
    await visit.page.keyboard.type("Ada")
    await visit.field("book/authors").get_by_role("button", name="Add item").click()
    await visit.page.keyboard.type("Bob")
    await visit.field("book/labels").get_by_role("button", name="Add labels").click()
    await visit.page.get_by_label("Name of a new member of labels").fill("colour")
    await visit.page.get_by_label("Name of a new member of labels").press("Enter")
    await visit.control("book/labels/colour").fill("red")
    await visit.control("book/owner").select_option("House")
    await visit.control("book/owner/rooms").fill("7")
    assert await params(visit) == {
        "book": {
            "title": "Möbius\n“strips”",
            "kind": "poetry",
            "year": 1975,
            "lent": False,
            "authors": ["Ada", "Bob"],
            "labels": {"colour": "red"},
            "owner": {"type": "house", "rooms": 7},
        }
    }
    assert await visit.problems() == []
    assert await visit.send() == "Result"


async def test_the_form_shows_what_the_json_says(visit: Visit) -> None:
    await visit.open("books.add")
    book = {
        "title": "T",
        "kind": "novel",
        "year": None,
        "isbn": "979-1",
        "lent": True,
        "authors": ["Ada"],
        "labels": {"a": "b"},
        "owner": {"type": "person", "name": "Eve"},
    }
    await visit.write_params(json.dumps({"book": book}))
    await visit.button("Form").click()
    assert await visit.control("book/title").input_value() == "T"
    assert await visit.control("book/kind").locator("option:checked").inner_text() == "novel"
    assert await visit.field("book/year").locator(".null-value").inner_text() == "null"
    assert await visit.control("book/lent").locator("option:checked").inner_text() == "true"
    assert await visit.control("book/authors/0").input_value() == "Ada"
    assert await visit.control("book/labels/a").input_value() == "b"
    assert await visit.control("book/owner/name").input_value() == "Eve"
    assert await params(visit) == {"book": book}


async def test_items_and_members_are_removed(visit: Visit) -> None:
    await visit.open("books.add")
    await visit.write_params(
        '{"book": {"authors": ["a", "b", "c"], "labels": {"x": "y"}, "isbn": "979-1"}}'
    )
    await visit.button("Form").click()
    await visit.button("Remove 1").click()
    await visit.button("Remove x").click()
    await visit.button("Leave out isbn").click()
    assert await params(visit) == {"book": {"authors": ["a", "c"], "labels": {}}}
    await visit.button("Leave out authors").click()
    assert await params(visit) == {"book": {"labels": {}}}


async def test_null_is_sent_where_it_is_allowed(visit: Visit) -> None:
    await visit.open("books.search")
    toggle = visit.button("Send null as kind")
    await toggle.click()
    assert await params(visit) == {"kind": None}
    assert await toggle.get_attribute("aria-pressed") == "true"
    await toggle.click()
    assert await params(visit) == {}


async def test_defaults_are_shown_but_not_sent(visit: Visit) -> None:
    await visit.open("books.search")
    assert await visit.control("limit").get_attribute("placeholder") == "default 10"
    assert await params(visit) == {}


async def test_a_recursive_value_can_be_entered(visit: Visit) -> None:
    await visit.open("shelves.tree")
    await visit.button("Add Shelf").click()
    await visit.control("shelf/label").fill("a")
    await visit.field("shelf/above").get_by_role("button", name="Add Shelf").click()
    await visit.control("shelf/above/label").fill("b")
    await visit.field("shelf/shelves").first.get_by_role("button", name="Add shelves").click()
    assert await params(visit) == {"shelf": {"label": "a", "above": {"label": "b"}, "shelves": []}}


async def test_any_value_is_json_or_text(visit: Visit) -> None:
    await visit.open("desk.echo")
    await visit.control("value").fill('{"a": [1]}')
    assert await params(visit) == {"value": {"a": [1]}}
    await visit.control("value").fill("plain words")
    assert await params(visit) == {"value": "plain words"}


async def test_numbers_keep_their_digits(visit: Visit) -> None:
    await visit.open("desk.echo")
    await visit.write_params('{"value": [12345678901234567890, 1.10, 1e-7]}')
    await visit.button("Form").click()
    shown = "[\n  12345678901234567890,\n  1.10,\n  1e-7\n]"
    assert await visit.control("value").input_value() == shown
    await visit.send()
    await visit.button("Wire").click()
    body = visit.page.get_by_label("request body", exact=True)
    assert "".join((await body.inner_text()).split()).endswith(
        '"params":{"value":[12345678901234567890,1.10,1e-7]}}'
    )


async def test_params_go_by_name_or_by_position(visit: Visit) -> None:
    await visit.open("books.search")
    await visit.control("limit").fill("3")
    await visit.button("By position").click()
    assert await params(visit) == [None, None, 3]
    await visit.control("query").fill("dark")
    assert await params(visit) == ["dark", None, 3]
    await visit.button("By name").click()
    assert await params(visit) == {"query": "dark", "kind": None, "limit": 3}


async def test_by_position_stands_a_default_where_something_is_left_out(visit: Visit) -> None:
    await visit.open("books.search")
    await visit.button("By position").click()
    await visit.control("limit").fill("3")
    assert await params(visit) == ["", None, 3]
    await visit.control("limit").fill("")
    assert await params(visit) == ["", None]


@pytest.mark.parametrize(
    ("method", "expected"), [("loans.borrow", []), ("books.add", {"book": {}})]
)
async def test_a_method_that_takes_params_one_way_offers_no_other(
    visit: Visit, method: str, expected: Any
) -> None:
    await visit.open(method)
    assert await visit.button("By position").count() == 0
    assert await params(visit) == expected


async def test_json_is_checked(visit: Visit) -> None:
    await visit.open()
    for method, text, problems in CHECKED:
        await visit.go(method)
        await visit.write_params(text)
        assert await visit.problems() == problems, text


async def test_problems_are_shown_beside_their_fields(visit: Visit) -> None:
    await visit.open("books.add")
    assert await visit.problems() == []
    await visit.control("book/isbn").fill("123")
    control = visit.control("book/isbn")
    assert await control.get_attribute("aria-invalid") == "true"
    described = await control.get_attribute("aria-describedby")
    assert await visit.page.locator(f"#{described}").inner_text() == "Must match ^97[89]-[0-9-]+$."
    await control.fill("978-0")
    assert await control.get_attribute("aria-invalid") == "false"


async def test_what_does_not_fit_can_still_be_sent(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("seven")
    assert await visit.problems() == ["Must be an integer, not a string."]
    assert await visit.send() == "Error -32602"


async def test_what_is_no_json_cannot_be_sent(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.write_params('{"id": ')
    assert await visit.page.locator("#send").is_disabled()
    await visit.button("Form").click()
    assert "cannot be shown as a form" in await visit.page.locator("#side .editor").inner_text()
    await visit.button("Start over").click()
    assert await visit.control("id").input_value() == ""
    assert await visit.page.locator("#send").is_enabled()


async def test_no_params_are_none(visit: Visit) -> None:
    await visit.open("desk.headers")
    assert await visit.params() == ""
    assert await visit.send() == "Result"


async def test_what_was_filled_in_stays_while_another_method_is_read(visit: Visit) -> None:
    await visit.open("desk.note")
    await visit.control("text").fill("half a sent")
    await visit.page.locator("#list a", has_text="books.get").click()
    await visit.page.locator("#list a", has_text="desk.note").click()
    assert await visit.control("text").input_value() == "half a sent"
