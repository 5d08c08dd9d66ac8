"""Nothing that somebody wrote runs on any page, loads anything, or becomes a part of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Dialog

from accord.web.pages import PAGES
from accord.web.pages.traceability import REMEDIES
from accord.web.request import PageRoute
from tests.web.house import House, Visitor, visiting
from tests.web.poison import CALCULATED, PAYLOADS, SHORT, TEXT, poison

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.req("H-21"),
]

WORD = quote(SHORT, safe="")
DOWNLOADS = {"/baselines/{id}/export", "/export/file"}
QUERIES = {
    "/baselines/compare": ("?a=$baseline&b=current",),
    "/items/{id}/link/found": (f"?q={WORD}",),
    "/new": ("", f"?kind={WORD}", f"?kind=requirement&parent={WORD}"),
    "/palette": (f"?q={WORD}",),
    "/search": (f"?q={WORD}", f"?q=a&label={WORD}&status={WORD}&kind={WORD}", f"?cursor={WORD}"),
    "/audit": ("?reads=true", f"?actor={WORD}&operation={WORD}", f"?outcome={WORD}&since={WORD}"),
    "/traceability/graph": ("?item=$requirement", f"?item={WORD}&type={WORD}"),
    "/traceability/matrix": ("", f"?epic={WORD}&cursor={WORD}"),
    "/requirements/move": ("?id=$requirement", f"?id={WORD}"),
    "/runs": ("", f"?state={WORD}&workflow={WORD}&cursor={WORD}"),
    "/runs/{id}/value": ("?of=input", "?of=output", "?of=error", f"?of={WORD}"),
    "/sign-in": (f"?next={WORD}",),
    "/workflows/{name}/compare": ("", f"?from={WORD}"),
}
"""What pages are asked, beside nothing."""
FIELDS = ("status", "priority", "assignee", "type", "labels", "parent")
HARMLESS = ("console: Failed to load resource", "console: The specified value")
"""What browsers say of a status of 400 and more, and of a date that is none."""
FOREIGN = """
() => [...document.querySelectorAll("*")].filter((each) =>
    each.matches(`.xss, base, object, embed, style, iframe:not([data-explorer]), [srcdoc],
      script:not([src^="/static/"]):not([src^="/rpc/explore/"]), meta[http-equiv],
      img:not([src^="/static/"]):not([src^="/rpc/explore/"]), link:not([href^="/"]),
      form[action*=":"], [href^="javascript" i], [href^="data" i], [href^="vbscript" i],
      a[href^="//"]`)
    || [...each.attributes].some(({ name }) => /^on/i.test(name)))
  .map((each) => each.outerHTML.slice(0, 300))
"""
"""What no page of ours has."""


class Watched:
    """A browser of somebody whose own name for it is a payload, in a house full of them."""

    def __init__(self, visitor: Visitor, found: dict[str, list[str]]) -> None:
        self.visitor = visitor
        self.found = found
        self.dialogs: list[str] = []
        visitor.page.on("dialog", self._see)

    async def _see(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    async def look(self, about: str) -> None:
        """Nothing of what stands on the page is more than text."""
        page = self.visitor.page
        assert await page.evaluate(FOREIGN) == [], about
        assert CALCULATED not in await page.content(), about
        assert self.dialogs == [], about
        faults = [each for each in self.visitor.faults if not each.startswith(HARMLESS)]
        assert faults == [], about  # breaches of the policy, exceptions, requests to elsewhere
        self.visitor.faults.clear()

    async def open(self, path: str) -> int:
        """The status of a page, which was looked at."""
        answer = await self.visitor.page.goto(f"{self.visitor.house.url}{path}")
        assert answer is not None
        await self.look(path)
        assert answer.status < 500, path
        return answer.status

    async def send(self, path: str, **fields: str) -> None:
        """Send a form from a page of ours, and look at what comes of it."""
        page = self.visitor.page
        await page.goto(f"{self.visitor.house.url}/keys")
        async with page.expect_navigation():
            await page.evaluate(
                """([path, fields]) => {
                  const form = document.createElement("form");
                  form.method = "post";
                  form.action = path;
                  const csrf = document.querySelector('meta[name="csrf-token"]').content;
                  for (const [name, value] of Object.entries({ ...fields, csrf })) {
                    const area = document.createElement("textarea");
                    area.name = name;
                    area.value = value;
                    form.append(area);
                  }
                  document.body.append(form);
                  form.submit();
                }""",
                [path, fields],
            )
        await self.look(f"{path} {list(fields)}")


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def watched(browser: Browser, house: House) -> AsyncIterator[Watched]:
    found = await poison(house)
    async with visiting(browser, house, user_agent=SHORT) as visitor:
        yield Watched(visitor, found)


def paths_of(route: PageRoute, found: dict[str, list[str]]) -> Iterator[str]:
    """At which paths a page is to be looked at."""
    names = re.findall(r"\{(\w+)\}", route.path)
    for values in product(*(_values(route.path, name, found) for name in names)):
        path = route.path
        for name, value in zip(names, values, strict=True):
            path = path.replace(f"{{{name}}}", value)
        for query in QUERIES.get(route.path, ("",)):
            yield path + re.sub(r"\$(\w+)", lambda name: found[name[1]][0], query)


def _values(path: str, name: str, found: dict[str, list[str]]) -> list[str]:
    if "/comments/{comment}" in path:
        return found["requirement"] if name == "id" else found["comment"]
    fixed: dict[str, list[str]] = {
        "field": list(FIELDS),
        "gap": list(REMEDIES),
        "name": ["poison"],
        "id": ["poisoned"],
        "reference": ["REQ-001", "poisoned"],
    }
    kinds = {
        "/baselines/": "baseline",
        "/changes/": "change",
        "/dead-letters/": "letter",
        "/items/{id}/set/": "requirement",
        "/items/": "item",
        "/prompts/": "prompt",
        "/proposals/": "proposal",
        "/requirements/children/": "item",
        "/runs/": "run",
        "/views/": "view",
    }
    kind = next((kind for start, kind in kinds.items() if path.startswith(start)), "")
    return found[kind] if name == "id" and kind else fixed[name]


@pytest.mark.parametrize("part", range(4))
async def test_no_page_believes_what_somebody_wrote(watched: Watched, part: int) -> None:
    routes = [route for pages in PAGES for route in pages if route.verb == "GET"]
    unseen = set()
    for route in routes[part::4]:
        if route.path in DOWNLOADS:
            continue
        statuses = [await watched.open(path) for path in paths_of(route, watched.found)]
        if min(statuses) >= 400:
            unseen.add(route.path)
    assert unseen == set()


async def test_what_is_not_there_is_named_as_text(watched: Watched) -> None:
    for pages in PAGES:
        for route in pages:
            if route.verb == "GET" and "{" in route.path and route.path not in DOWNLOADS:
                path = re.sub(r"\{[^}]*\}", WORD, route.path)
                assert await watched.open(path) in (200, 400, 404, 422), route.path
    assert await watched.open(f"/{WORD}/{WORD}") == 404


async def test_what_is_refused_comes_back_as_text(watched: Watched) -> None:
    item, prompt = watched.found["requirement"][0], watched.found["prompt"][0]
    definition = f"name: {SHORT!r}\ndescription: |\n  {SHORT}\nsteps: nonsense"
    forms: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/tokens", {"name": f"{SHORT} ", "scopes": SHORT, "expires_in": SHORT}),
        ("/users", {"username": SHORT, "role": SHORT, "email": SHORT}),
        ("/users/poisoned", {"role": SHORT, "email": SHORT}),
        ("/prompts", {"name": SHORT, "title": SHORT, "content": TEXT, "description": TEXT}),
        (f"/prompts/{prompt}", {"name": SHORT, "content": TEXT, "version": "1"}),
        (f"/prompts/{prompt}", {"name": "poison", "content": TEXT, "version": "1"}),
        ("/settings/labels", {"name": SHORT, "colour": SHORT}),
        ("/settings/relationship-types", {"name": SHORT, "inverse": SHORT}),
        ("/settings/requirement-types/delete", {"name": SHORT}),
        ("/account", {"email": SHORT}),
        ("/account/password", {"current_password": SHORT, "new_password": SHORT}),
        ("/set-up/assistant", {"name": f"{SHORT} {SHORT}"}),
        ("/new", {"kind": "requirement", "title": SHORT, "parent": SHORT, "description": TEXT}),
        ("/new", {"kind": SHORT, "title": SHORT, "parent": SHORT}),
        ("/import", {"format": SHORT, "content": TEXT}),
        ("/import", {"format": "csv", "content": f"kind,title\nepic,{SHORT}\n{SHORT},{SHORT}"}),
        (f"/items/{item}/edit", {"title": SHORT, "description": TEXT, "version": "1"}),
        (f"/items/{item}/link", {"target": SHORT, "type": SHORT, "other": SHORT}),
        ("/workflows/new", {"definition": definition, "text": definition, "yaml": definition}),
        ("/agents/new", {"name": SHORT, "url": SHORT, "description": TEXT}),
        ("/baselines", {"name": SHORT, "description": TEXT}),
    )
    for path, fields in forms:
        await watched.send(path, **fields)


async def test_what_a_page_says_about_what_was_done_is_text(watched: Watched) -> None:
    context, house = watched.visitor.page.context, watched.visitor.house
    for payload in PAYLOADS[:8]:
        for name in ("accord_notice", "accord_theme"):
            value = quote(payload)
            await context.add_cookies([{"name": name, "value": value, "url": house.url}])
        await watched.open("/tokens")
    await context.clear_cookies(name="accord_theme")


async def test_an_answer_in_the_explorer_is_text(watched: Watched) -> None:
    page, epic = watched.visitor.page, watched.found["item"][0]
    params = quote(f'{{"id":"{epic}"}}', safe="")
    await page.goto(f"{watched.visitor.house.url}/explorer#/method/get_epic?params={params}")
    inside = page.frame_locator("iframe")
    await inside.get_by_role("button", name="Send").first.wait_for()
    await inside.locator("body").press("Control+Enter")
    await inside.locator(".answer-body").get_by_text("onerror=alert").first.wait_for()
    assert await page.frames[1].evaluate(FOREIGN) == []
    await watched.look("the explorer")
