"""The search page, with words and filters in its URL, and saved views."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from accord.hub.domain.rules import parse_reference
from accord.hub.entities import UNASSIGNED, each_of, one_or_list
from accord.operations.errors import ServiceError
from accord.web.formatting import KINDS, href_of, search_result
from accord.web.forms import Words
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

FILTERS: Final = ("kind", "status", "priority", "type", "assignee", "label", "epic")
"""The names of the filters in the query string."""
STATUSES: Final = ("Backlog", "Draft", "In Progress", "Done", "Cancelled", "Active", "Obsolete")
PRIORITIES: Final = (("1", "1 Critical"), ("2", "2 High"), ("3", "3 Medium"), ("4", "4 Low"))
ITEMS: Final = [kind for kind in KINDS if kind != "comment"]
EVERYTHING: Final = "*"
SHOWN: Final = 25
MAX_CHOICES: Final = 100
"""The most names that a filter suggests; others can be typed."""
MAX_VIEWS: Final = 50


class SearchQuery(Struct, frozen=True):
    """A search: words and filters."""

    query: str
    filters: dict[str, list[str]]
    """The values of each field, sorted; an item matches any of them."""

    @property
    def is_empty(self) -> bool:
        return not self.query and not self.filters

    def arguments(self) -> dict[str, Any]:
        """Return the search as arguments of the operation `search_global`."""
        given = self._values()
        if "kind" in given:
            given["kinds"] = self.filters["kind"]
            del given["kind"]
        elif self.is_empty:
            given["kinds"] = ITEMS
        return {"query": self.query or EVERYTHING, **given}

    def view(self) -> dict[str, Any]:
        """Return the search as the filter of a saved view."""
        return {**({"query": self.query} if self.query else {}), **self._values()}

    def path(self, **more: str) -> str:
        """Return the path of the page with the results of the search."""
        words = {**({"q": self.query} if self.query else {}), **self.filters, **more}
        return f"/search?{urlencode(words, doseq=True)}" if words else "/search"

    def _values(self) -> dict[str, Any]:
        """Return the filters as arguments of operations.

        A filter with one value is that value, and a filter with several values is a list.
        """
        return {
            "epic_id" if name == "epic" else name: one_or_list(values)
            for name, values in self.filters.items()
        }


def search_of(words: Words) -> SearchQuery:
    """Return the search that a query string or form contains."""
    return _search(words["q"], {name: words.every(name) for name in FILTERS})


def search_of_view(filter: Any) -> SearchQuery:
    """Return the search of a saved view."""
    values = {name: getattr(filter, "epic_id" if name == "epic" else name) for name in FILTERS}
    return _search(filter.query or "", {name: each_of(value) for name, value in values.items()})


def _search(query: str, by_field: dict[str, list[Any]]) -> SearchQuery:
    filters = {
        name: sorted({text for each in values if (text := str(each).strip())})
        for name, values in by_field.items()
    }
    filters["epic"] = filters["epic"][:1]
    return SearchQuery(query.strip(), {name: values for name, values in filters.items() if values})


@pages.get("/search")
async def search(request: PageRequest) -> PageResponse:
    search_query = search_of(request.query)
    cursor = request.query["cursor"] or None
    try:
        found = await request.run(
            "search_global", **search_query.arguments(), limit=SHOWN, cursor=cursor
        )
    except ServiceError as error:
        if request.is_partial and cursor:
            raise
        return await _page(request, search_query, None, error)
    exact = _exact(search_query, found) if not cursor and not request.is_partial else ""
    return request.go(exact) if exact else await _page(request, search_query, found)


def _exact(asked: SearchQuery, found: Any) -> str:
    """Return the path of the item whose reference id is the query, "" if there is none."""
    reference = parse_reference(asked.query) if not asked.filters else None
    for each in found.items[:1] if reference else ():
        if each.reference_id == str(reference) and each.kind != "comment":
            return href_of(each.kind, each.reference_id)
    return ""


async def _page(
    request: PageRequest, asked: SearchQuery, found: Any, error: ServiceError | None = None
) -> PageResponse:
    status = 200 if error is None else error.kind.status
    view = await _view(request)
    context = {
        "view": view,
        "is_changed": view is not None and search_of_view(view.filter) != asked,
        "left_out": _left_out(view),
        "asked": asked,
        "found": found,
        "findings": [search_result(each) for each in found.items] if found else [],
        "is_first": not request.query["cursor"],
        "error": error,
    }
    if request.is_partial:
        piece = "search/_rows.html" if request.query["cursor"] else "search/_found.html"
        # The back button leads to the current words.
        here = asked.path(**({"view": view.id} if view else {}))
        headers = b"" if request.query["cursor"] else f"hx-push-url: {here}\r\n".encode()
        return request.piece(piece, status=status, headers=headers, **context)
    return await request.page(
        "search/page.html", status=status, **await _choices(request), **context
    )


async def _view(request: PageRequest) -> Any:
    """Return the saved view that the search started from, None if there is none."""
    try:
        return (
            await request.run("get_view", id=request.query["view"])
            if request.query["view"]
            else None
        )
    except ServiceError:  # deleted or no longer shared: the search works without it
        return None


def _left_out(view: Any) -> list[str]:
    """Describe the filters of a saved view that the search page does not support."""
    if view is None:
        return []
    filters = {"creator": view.filter.creator, "user story": view.filter.user_story_id}
    texts = {name: " or ".join(each_of(value)) for name, value in filters.items()}
    return [f"{name} {value}" for name, value in texts.items() if value]


async def _choices(request: PageRequest) -> dict[str, Any]:
    """Return the saved views, and the values that the filters offer."""
    views, types, labels, epics, people = await asyncio.gather(
        request.run("list_views", limit=MAX_VIEWS),
        request.run("list_requirement_types"),
        request.run("list_labels", limit=MAX_CHOICES),
        request.run("list_epics", limit=MAX_CHOICES, detail="concise"),
        request.run("list_people", limit=MAX_CHOICES),
    )
    return {
        "views": views,
        "kinds": tuple(KINDS.items()),
        "statuses": STATUSES,
        "priorities": PRIORITIES,
        "types": types,
        "labels": labels,
        "epics": epics,
        "people": [
            (UNASSIGNED, "Nobody"),
            (request.user.username, f"{request.user.username} (me)"),
            *(each.username for each in people.items if each.username != request.user.username),
        ],
    }


@pages.post("/views")
async def save(request: PageRequest) -> PageResponse:
    search_query = search_of(request.form)
    name = request.form["name"].strip()
    try:
        view = await request.run(
            "create_view",
            name=name,
            filter=search_query.view(),
            shared=request.form["shared"] == "yes",
        )
    except ServiceError as error:
        return request.go(search_query.path(), f"Not saved: {error.message}")
    return request.go(search_query.path(view=view.id), f"Saved as {view.name}")


@pages.get("/views/{id}")
async def show(request: PageRequest) -> PageResponse:
    view = await request.run("get_view", id=request.values["id"])
    return request.go(search_of_view(view.filter).path(view=view.id))


@pages.post("/views/{id}/filter")
async def change(request: PageRequest) -> PageResponse:
    """Update a saved view: replace its filter with the current search."""
    search_query = search_of(request.form)
    view = await request.run("update_view", id=request.values["id"], filter=search_query.view())
    return _back(request, search_query, view.id, f"{view.name} shows this now")


@pages.post("/views/{id}/shared")
async def share(request: PageRequest) -> PageResponse:
    view = await request.run(
        "update_view", id=request.values["id"], shared=request.form["shared"] == "yes"
    )
    audience = "Everybody sees" if view.shared else "Only you see"
    return _back(request, search_of(request.form), view.id, f"{audience} {view.name} now")


@pages.post("/views/{id}/delete")
async def delete(request: PageRequest) -> PageResponse:
    deleted = await request.run("delete_view", id=request.values["id"])
    return request.go(search_of(request.form).path(), f"Deleted the view {deleted.deleted}")


def _back(request: PageRequest, search_query: SearchQuery, id: str, notice: str) -> PageResponse:
    return request.go(search_query.path(view=id), notice)
