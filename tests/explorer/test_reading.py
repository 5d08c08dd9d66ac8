"""Reading about a method: params, schemas, result, errors, examples, links."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from accord import serve
from accord.openrpc import expose
from tests.explorer.visit import Visit, lines, pages_for, visiting
from tests.exposure.test_security import guarded

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


async def sections(visit: Visit) -> dict[str, list[str]]:
    found = [await lines(section) for section in await visit.page.locator("#method section").all()]
    return {title: rest for title, *rest in found}


async def test_a_method_reads_like_a_page(visit: Visit) -> None:
    await visit.open("books.get")
    article = visit.page.locator("#method article")
    assert await article.locator(".kind").inner_text() == "books · params by name or by position"
    assert await article.locator("h1").inner_text() == "books.get"
    assert await article.locator(".lead").inner_text() == "One book, by its number"
    assert list(await sections(visit)) == [
        "Params", "Result", "Errors", "Examples", "Leads to"
    ]  # fmt: skip


async def test_descriptions_are_marked_up(visit: Visit) -> None:
    await visit.open("books.get")
    prose = visit.page.locator("#method article > .prose")
    assert await prose.locator("strong").all_inner_texts() == ["withdrawn"]
    assert await prose.locator("code").all_inner_texts() == ["fields"]
    assert await prose.locator("li").all_inner_texts() == ["the title", "the kind"]
    more = visit.page.locator("#method article > p > a")
    assert await more.get_attribute("href") == "https://library.example/numbers"
    assert await more.get_attribute("rel") == "noopener noreferrer"


async def test_params_say_what_they_take(visit: Visit) -> None:
    await visit.open("books.search")
    rows = visit.page.locator("#method section").first.locator(".row")
    assert [await lines(row) for row in await rows.all()] == [
        ["query", "string", "at most 200 characters", 'default ""'],
        ["kind", "Kind or null", "Where it stands.", '"novel"', '"reference"', '"poetry"'],
        ["limit", "integer", "at least 1", "at most 100", "default 10"],
    ]


async def test_required_and_deprecated_params_are_marked(visit: Visit) -> None:
    await visit.open("books.remove")
    row = visit.page.locator("#method .row").first
    assert await lines(row) == ["id", "integer", "required", "deprecated"]


async def test_a_recursive_schema_opens_on_demand_without_end(visit: Visit) -> None:
    await visit.open("shelves.tree")
    row = visit.page.locator("#method section").first.locator(".row").first
    for _ in range(6):
        above = row.locator(":scope > details > .rows > .row").nth(2)
        assert (await lines(above))[:2] == ["above", "Shelf"]
        await above.locator("summary").first.click()
        row = above
    await expect(row.locator(":scope > details > .rows > .row")).to_have_count(3)


async def test_the_forms_of_a_union_are_listed(visit: Visit) -> None:
    await visit.open("books.add")
    owner = visit.page.locator("#method .row .row", has_text="owner").last
    await owner.locator("summary", has_text="2 forms").click()
    forms = owner.locator(":scope > details > .rows > .row")
    await expect(forms).to_have_count(2)
    assert [(await lines(form))[:2] for form in await forms.all()] == [
        ["1", "Person"],
        ["2", "House"],
    ]


async def test_errors_are_listed_with_what_they_mean(visit: Visit) -> None:
    await visit.open("books.get")
    rows = visit.page.locator("#method tbody tr")
    assert await rows.all_inner_texts() == [
        '404\tThere is no book with this number\n{"id":99}',
        "-32602\tInvalid params The params do not fit the method.",
    ]


async def test_an_example_fills_the_call_in(visit: Visit) -> None:
    await visit.open("books.get")
    await (
        visit.page.locator(".example", has_text="a novel").get_by_role("button", name="Use").click()
    )
    assert await visit.params() == '{\n  "id": 1,\n  "fields": [\n    "title"\n  ]\n}'
    assert await visit.send() == "Result"
    assert await visit.result() == {"title": "The Left Hand of Darkness"}
    await (
        visit.page.locator(".example", has_text="a reference")
        .get_by_role("button", name="Use")
        .click()
    )
    assert await visit.params() == '{\n  "id": 2\n}'


async def test_a_link_leads_to_its_method(visit: Visit) -> None:
    await visit.open("books.get")
    assert (await sections(visit))["Leads to"] == [
        "borrow it",
        "loans.borrow",
        "Take the book home",
        "with",
        '{"book":"${result.id}","days":7}',
    ]
    await visit.page.locator("#method .row-type a", has_text="loans.borrow").click()
    await visit.chose("loans.borrow")


async def test_a_result_leads_to_the_next_call(visit: Visit) -> None:
    await visit.open("books.get")
    await visit.control("id").fill("2")
    await visit.send()
    await visit.button("borrow it").click()
    await visit.chose("loans.borrow")
    assert await visit.control("book").input_value() == "2"
    assert await visit.control("days").input_value() == "7"


async def test_a_notification_has_no_result(visit: Visit) -> None:
    await visit.open("desk.note")
    assert (await sections(visit))["Result"] == ["None: this method is a notification."]


@pytest.mark.req("O-18")
async def test_a_route_is_shown_with_the_places_of_its_params(browser: Browser) -> None:
    api = expose(guarded())
    async with (
        serve(api.router, "http://127.0.0.1:0/rpc", pages=pages_for(api.document())) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open("items.id.put")
        route = visit.page.locator("#method article .route")
        assert await route.inner_text() == "PUT /items/{id}"
        rows = visit.page.locator("#method section").first.locator(".row")
        assert [await lines(row) for row in await rows.all()][:4] == [
            ["id", "integer", "required", "in path"],
            ["size", "integer", "in query", "at least 1", "default 1"],
            ["many", "array of integer", "in query", "default []"],
            ["size_body", "integer", "in body as size", "default 1"],
        ]
        await visit.go("keys.get")
        assert await route.inner_text() == (
            "GET /keys needs APIKeyHeader (header X-Key), or APIKeyQuery (query api key), or "
            "APIKeyCookie (cookie sid)"
        )
        await visit.go("upload")
        file = rows.filter(has_text="A file: its bytes in base64").first
        assert "in body" in await lines(file)
