"""Relationships of an item: made by choosing a type and the other end, confirmed, removed."""

from __future__ import annotations

from typing import Any, Final

from accord.hub.domain.kinds import parse_reference
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.pages.items.detail import done
from accord.web.pages.items.item import Item, find_item
from accord.web.pages.items.showing import show
from accord.web.routing import Pages
from accord.web.turn import Turn

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
"""Stands before the type of a link that leads to the item instead of from it."""


@pages.get("/items/{id}/link")
async def choose(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    return await _form(turn, item, turn.query["type"], turn.query["q"])


@pages.get("/items/{id}/link/found")
async def found(turn: Turn) -> Answer:
    """Items that could be the other end."""
    item = await find_item(turn, turn.values["id"])
    return turn.piece("items/_found.html", found=await _found(turn, item, turn.query["q"]))


@pages.post("/items/{id}/link")
async def add(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    type, other = turn.form["type"], turn.form["target"] or turn.form["q"].strip()
    try:
        ends = (item.reference_id, other)
        source, target = reversed(ends) if type.startswith(INVERSE) else ends
        await turn.do(
            "create_relationship",
            source_id=source,
            target_id=target,
            type=type.removeprefix(INVERSE),
        )
    except ServiceError as error:
        if turn.is_partial:
            raise
        return await _form(turn, item, type, turn.form["q"], error=error)
    return await done(turn, item.reference_id, f"Linked with {other.upper()}.")


@pages.post("/items/{id}/links/{link}/confirm")
async def confirm(turn: Turn) -> Answer:
    await turn.do("confirm_relationship", id=turn.values["link"], reason=turn.form["reason"])
    return await done(turn, turn.values["id"], "The link is confirmed.")


@pages.post("/items/{id}/links/{link}/remove")
async def remove(turn: Turn) -> Answer:
    await turn.do("delete_relationship", id=turn.values["link"])
    return await done(turn, turn.values["id"], "The link was removed.")


async def _form(
    turn: Turn, item: Item, type: str, query: str, *, error: ServiceError | None = None
) -> Answer:
    context: dict[str, Any] = {
        "item": item,
        "types": await _types(turn),
        "type": type,
        "q": query,
        "found": await _found(turn, item, query),
        "error": error,
    }
    if turn.is_partial:
        return turn.piece("items/_link.html", **context)
    status = 200 if error is None else error.kind.status
    return await show(turn, "_link", status=status, **context)


async def _types(turn: Turn) -> list[tuple[str, str]]:
    """All types, from both ends."""
    made = []
    for each in (await turn.do("list_relationship_types")).items:
        made.append((each.name, each.name.replace("_", " ")))
        if each.inverse != each.name:
            made.append((f"{INVERSE}{each.name}", each.inverse.replace("_", " ")))
    return made


async def _found(turn: Turn, item: Item, query: str) -> list[tuple[str, str, str]]:
    """Reference ids, titles and states of what a query finds."""
    if not query.strip():
        return []
    page = await turn.do("search_global", query=query[:200], kinds=LINKABLE, limit=MAX_FOUND + 1)
    others = [each for each in page.items if each.reference_id != item.reference_id]
    exact = parse_reference(query)
    others.sort(key=lambda each: exact is None or each.reference_id != str(exact))
    return [(each.reference_id, each.title, each.status) for each in others[:MAX_FOUND]]
