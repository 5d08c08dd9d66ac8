"""Forms to create, confirm and remove relationships of an item.

A relationship is created by choosing a type and the other item.
"""

from __future__ import annotations

from typing import Any, Final

from accord.hub.domain.rules import parse_reference
from accord.operations.errors import ServiceError
from accord.web.pages.items.detail import ItemView, find_item, show, show_changed
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

MAX_FOUND: Final = 8
LINKABLE: Final = [
    "epic",
    "user_story",
    "acceptance_criteria",
    "requirement",
    "steering_document",
]
INVERSE: Final = "~"
"""The prefix of a relationship type in the form for relationships that lead to the item.

Without the prefix, the item is the source of the relationship; with it, the item is the target."""


@pages.get("/items/{id}/link")
async def choose(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    return await _form(request, item, request.query["type"], request.query["q"])


@pages.get("/items/{id}/link/found")
async def suggest(request: PageRequest) -> PageResponse:
    """Show items that match a query, as suggestions for the other end of a relationship."""
    item = await find_item(request, request.values["id"])
    return request.piece(
        "items/_found.html", found=await _find_items(request, item, request.query["q"])
    )


@pages.post("/items/{id}/link")
async def add(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    type, other = request.form["type"], request.form["target"] or request.form["q"].strip()
    try:
        ends = (item.reference_id, other)
        source, target = reversed(ends) if type.startswith(INVERSE) else ends
        await request.run(
            "create_relationship",
            source_id=source,
            target_id=target,
            type=type.removeprefix(INVERSE),
        )
    except ServiceError as error:
        if request.is_partial:
            raise
        return await _form(request, item, type, request.form["q"], error=error)
    return await show_changed(request, item.reference_id, f"Linked with {other.upper()}.")


@pages.post("/items/{id}/links/{link}/confirm")
async def confirm(request: PageRequest) -> PageResponse:
    await request.run(
        "confirm_relationship", id=request.values["link"], reason=request.form["reason"]
    )
    return await show_changed(request, request.values["id"], "The link is confirmed.")


@pages.post("/items/{id}/links/{link}/remove")
async def remove(request: PageRequest) -> PageResponse:
    await request.run("delete_relationship", id=request.values["link"])
    return await show_changed(request, request.values["id"], "The link was removed.")


async def _form(
    request: PageRequest,
    item: ItemView,
    type: str,
    query: str,
    *,
    error: ServiceError | None = None,
) -> PageResponse:
    context: dict[str, Any] = {
        "item": item,
        "types": await _types(request),
        "type": type,
        "q": query,
        "found": await _find_items(request, item, query),
        "error": error,
    }
    if request.is_partial:
        return request.piece("items/_link.html", **context)
    status = 200 if error is None else error.kind.status
    return await show(request, "_link", status=status, **context)


async def _types(request: PageRequest) -> list[tuple[str, str]]:
    """Return all relationship types with their labels, in both directions."""
    made = []
    for each in (await request.run("list_relationship_types")).items:
        made.append((each.name, each.name.replace("_", " ")))
        if each.inverse != each.name:
            made.append((f"{INVERSE}{each.name}", each.inverse.replace("_", " ")))
    return made


async def _find_items(
    request: PageRequest, item: ItemView, query: str
) -> list[tuple[str, str, str]]:
    """Return id, title and status of the items that match a query, other than `item`."""
    if not query.strip():
        return []
    page = await request.run(
        "search_global", query=query[:200], kinds=LINKABLE, limit=MAX_FOUND + 1
    )
    others = [each for each in page.items if each.reference_id != item.reference_id]
    exact = parse_reference(query)
    others.sort(key=lambda each: exact is None or each.reference_id != str(exact))
    return [(each.reference_id, each.title, each.status) for each in others[:MAX_FOUND]]
