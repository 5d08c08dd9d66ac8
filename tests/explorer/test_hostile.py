"""Documents written to do harm, or by somebody who did not read the specification."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from accord import Router, serve
from tests.explorer.visit import Visit, pages_for, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]

SCRIPT = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
LINKS = (
    f"{SCRIPT} [a](javascript:document.title='pwned') [b](data:text/html,x) [c](//evil.example/x) "
    "[d](https://good.example/) <javascript:alert(1)> ![e](https://evil.example/e.png) "
    "`<b>` **<i>** [f](vbscript:x) [g](mailto:a@b.example)"
)
NAMES = [
    "__proto__",
    "constructor",
    SCRIPT,
    "a/b?c#d&e=f%g h",
    "\u202ereversed",
    "hasOwnProperty",
    "x" * 3000,
]


def hostile() -> dict[str, Any]:
    schemas: dict[str, Any] = {
        "Self": {"$ref": "#/components/schemas/Self"},
        "Ping": {"$ref": "#/components/schemas/Pong"},
        "Pong": {"$ref": "#/components/schemas/Ping"},
        "MaybeSelf": {"anyOf": [{"$ref": "#/components/schemas/MaybeSelf"}, {"type": "null"}]},
        "Twice": {"anyOf": [{"$ref": "#/components/schemas/Twice"}] * 4},
        "AllTwice": {"allOf": [{"$ref": "#/components/schemas/AllTwice"}] * 4},
        "Deep": {"type": "object", "required": ["deep"], "properties": {"deep": {"$ref": "#/components/schemas/Deep"}}},
        "Lists": {"type": "array", "items": {"$ref": "#/components/schemas/Lists"}},
        "Map": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Map"}},
        "Slow": {"type": "string", "pattern": "^(a+)+$"},
        "NoPattern": {"type": "string", "pattern": "("},
        "__proto__": {"type": "string"},
        SCRIPT: {"type": "object", "title": SCRIPT, "properties": {SCRIPT: {"description": LINKS, "default": SCRIPT}}},
        "Enum": {"enum": [SCRIPT, {"__proto__": 1}, None, 10**30], "description": SCRIPT},
        "Odd": {"type": 7, "properties": [], "required": "all", "enum": [], "minimum": "x", "items": None, "anyOf": {}},
        "Many": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(500)}},
    }  # fmt: skip
    for level in range(30):  # a billion laughs
        following = {"$ref": f"#/components/schemas/Laugh{level + 1}"}
        schemas[f"Laugh{level}"] = {"allOf": [following, following, following]}
        schemas[f"Giggle{level}"] = {
            "anyOf": [{"$ref": f"#/components/schemas/Giggle{level + 1}"}] * 3
        }
    references = [f"#/components/schemas/{name.replace('/', '~1')}" for name in schemas]
    references += [
        "#/__proto__/polluted",
        "#/constructor/prototype",
        "https://evil.example/x.json",
        "#",
        "nonsense",
        "#/%",
    ]
    methods: list[Any] = [
        {
            "name": name,
            "summary": SCRIPT,
            "description": LINKS,
            "tags": [{"name": SCRIPT, "description": SCRIPT}, None, 7],
            "params": [{"name": f"{number} {SCRIPT}", "required": True, "schema": {"$ref": reference}} for number, reference in enumerate(references)],
            "result": {"name": SCRIPT, "schema": {"$ref": "#/components/schemas/Lists"}},
            "errors": [{"code": SCRIPT, "message": SCRIPT}, {"code": 1, "message": LINKS, "data": SCRIPT}, None],
            "examples": [{"name": SCRIPT, "params": [{"name": SCRIPT, "value": SCRIPT}], "result": {"value": SCRIPT}}, 1],
            "links": [{"name": SCRIPT, "method": SCRIPT, "params": {"x": "${result.__proto__.x}"}}],
            "externalDocs": {"url": "javascript:document.title='pwned'", "description": SCRIPT},
        }
        for name in NAMES
    ]  # fmt: skip
    odd: list[Any] = [
        None,
        7,
        "x",
        [],
        {},
        {"name": 7},
        {"name": "odd", "params": "x", "result": 3, "tags": {}, "examples": [[]]},
    ]
    return {
        "openrpc": SCRIPT,
        "info": {
            "title": SCRIPT, "version": SCRIPT, "description": LINKS,
            "termsOfService": "javascript:document.title='pwned'",
            "contact": {"name": SCRIPT, "url": "javascript:x", "email": "x@y.example?body=z"},
            "license": {"name": SCRIPT, "url": "data:text/html,<script>"},
        },
        "servers": [{"name": SCRIPT, "url": "javascript:x"}, 7],
        "methods": [*methods, *odd],
        "components": {"schemas": schemas, "errors": [SCRIPT]},
    }  # fmt: skip


async def made(page: Page) -> list[str]:
    """Elements that only a document's HTML could have made."""
    wanted = (
        "script:not([src]), img:not([src='explore/icon.svg']), iframe, object, [onerror], b > img"
    )
    found: list[str] = await page.evaluate(
        "wanted => [...document.body.querySelectorAll(wanted)].map((each) => each.outerHTML)",
        wanted,
    )
    return found


async def test_nothing_in_a_document_is_taken_for_html_or_hangs_the_page(browser: Browser) -> None:
    document = hostile()
    async with (
        serve(Router(), "http://127.0.0.1:0/rpc", pages=pages_for(document)) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open()
        await visit.shows(SCRIPT)
        assert await visit.methods() == [*NAMES, "odd"]
        for index in range(len(NAMES)):
            await visit.page.locator("#list a").nth(index).click()
            heading = visit.page.locator("#method h1")
            await expect(heading).to_have_text(f"{NAMES[index]}Fill in the call")
        assert await made(visit.page) == []
        await visit.page.fill("#search", SCRIPT)
        await visit.page.fill("#search", "")
        await fill_and_send(visit)
        assert await made(visit.page) == []
        assert "pwned" not in (await visit.page.title()).replace(SCRIPT, "")
        assert await visit.page.evaluate("({}).polluted") is None


async def fill_and_send(visit: Visit) -> None:
    """Everything on one method that can be opened, filled in, and sent."""
    await visit.page.locator("#list a").first.click()
    for summary in (await visit.page.locator("#method .opening:not([open]) > summary").all())[:10]:
        await summary.click()
    await visit.page.get_by_role("button", name="Use this example").first.click()
    await visit.button("JSON").click()
    await visit.page.fill("#params", json.dumps({f"9 {SCRIPT}": "a" * 100 + "!"}))
    await visit.button("Form").click()
    for language in ("curl", "Python", "TypeScript", "Message"):
        await visit.code(language)
    assert await visit.send() == "Error -32601"
    await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")
    await visit.page.click("#send-batch")
    assert await visit.verdict() == "Error -32601"
    await visit.page.click("#tab-history")
    assert await visit.page.locator(".history-row").count() == 2


async def test_only_harmless_links_are_links(browser: Browser) -> None:
    async with (
        serve(Router(), "http://127.0.0.1:0/rpc", pages=pages_for(hostile())) as server,
        visiting(browser, server.url) as visit,
    ):
        await visit.open()
        hrefs = await visit.page.evaluate(
            "[...document.querySelectorAll('#method .prose a, #method .facts a')].map((a) => [a.getAttribute('href'), a.rel])"
        )
        assert hrefs == [
            ["https://good.example/", "noopener noreferrer"],
            ["https://evil.example/e.png", "noopener noreferrer"],
            ["mailto:a@b.example", "noopener noreferrer"],
            ["mailto:x@y.example?body=z", "noopener noreferrer"],
        ]


async def test_an_answer_is_taken_for_text(visit: Visit) -> None:
    await visit.open("desk.echo")
    await visit.control("value").fill(SCRIPT)
    assert await visit.send() == "Result"
    assert await visit.result() == SCRIPT
    await visit.button("Wire").click()
    assert await made(visit.page) == []
    assert await visit.page.title() == "desk.echo · Lending library"


ENDLESS = ["*", "`", "[", "[a](", "<", "- ", "https://", "# ", "**a", "_", "1. "]


async def test_markdown_takes_work_in_proportion_to_its_length(visit: Visit) -> None:
    await visit.open()
    growth = await visit.page.evaluate(
        """async (pieces) => {
            const { markdown } = await import("./explore/markdown.js");
            const best = [Infinity, Infinity];
            for (let round = 0; round < 7; round++)
                for (const [at, size] of [2_500, 20_000].entries()) {
                    const began = performance.now();
                    for (const piece of pieces) markdown(piece.repeat(size));
                    best[at] = Math.min(best[at], performance.now() - began);
                }
            return best[1] / best[0];
        }""",
        ENDLESS,
    )
    assert growth < 32  # eight times the text; a square would take 64 times as long
