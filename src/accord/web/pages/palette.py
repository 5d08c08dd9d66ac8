"""The command palette and the sheet of keyboard shortcuts.

The palette is asked with every letter typed, so it runs few operations and no large ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from accord.operations.context import Caller
from accord.operations.errors import ServiceError
from accord.web.formatting import search_result
from accord.web.layout import NAVIGATION
from accord.web.palette import PaletteCommand, actions, is_meant, matching, places
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse, is_local_path

pages: Final = Pages()

MAX_QUERY: Final = 200
MAX_EACH: Final = 6
"""How many of a group are shown once something was typed."""
MAX_NAMED: Final = 50
"""How many prompts and workflows are looked through."""


@pages.get("/palette")
async def palette(request: PageRequest) -> PageResponse:
    query = request.query["q"].strip()[:MAX_QUERY]
    at = request.query["at"] if is_local_path(request.query["at"]) else "/"
    found, named = (
        await asyncio.gather(_items(request, query), _named(request, query)) if query else ([], [])
    )
    most = MAX_EACH if query else None
    to_do = matching([*actions(request.user, at), *named], query)[:most]
    to_go = matching(places(request.user), query)[:most]
    return request.piece(
        "palette/_options.html",
        asked=query,
        items=[search_result(each) for each in found],
        actions=to_do,
        places=to_go,
        order=_order(query, to_do, to_go),
    )


def _order(query: str, to_do: list[PaletteCommand], to_go: list[PaletteCommand]) -> list[str]:
    """Which group comes first: one that was meant by its name, else items."""
    if not query:
        return ["actions", "places"]
    meant = {
        name: any(is_meant(each, query) for each in some)
        for name, some in (("actions", to_do), ("places", to_go))
    }
    return sorted(["places", "items", "actions"], key=lambda name: not meant.get(name, False))


async def _items(request: PageRequest, query: str) -> list[Any]:
    found = await request.run("search_global", query=query, limit=MAX_EACH)
    return list(found.items)


async def _named(request: PageRequest, query: str) -> list[PaletteCommand]:
    """What can be done with things that have names."""
    found = await asyncio.gather(_runs(request, query), _prompts(request, query))
    return [command for some in found for command in some]


async def _runs(request: PageRequest, query: str) -> Iterable[PaletteCommand]:
    if not request.user.may("run"):
        return []
    return [
        PaletteCommand(
            label=f"Start {each.name}", href=f"/workflows/{each.name}#start", words="run workflow"
        )
        for each in await _listed(request, "list_workflows")
        if each.active
    ]


async def _prompts(request: PageRequest, query: str) -> Iterable[PaletteCommand]:
    if not request.user.is_administrator:
        return []
    return [
        PaletteCommand(
            label=f"Activate the prompt {each.name}",
            post=f"/prompts/{each.reference_id}/activate",
            words=each.reference_id,
        )
        for each in await _listed(request, "list_prompts", detail="concise")
        if not each.active
    ]


async def _listed(request: PageRequest, operation: str, **arguments: Any) -> list[Any]:
    try:
        found = await request.run(operation, limit=MAX_NAMED, **arguments)
    except ServiceError:  # who may not see them gets the rest
        return []
    return list(found.items)


class Key(Struct, frozen=True):
    """What keys do; more than one are pressed one after the other, or with `+` together."""

    keys: str
    meaning: str


class KeyGroup(Struct, frozen=True):
    title: str
    keys: tuple[Key, ...]


EVERYWHERE: Final = KeyGroup(
    "Everywhere",
    (
        Key("Ctrl+K", "Command palette"),
        Key("/", "Command palette"),
        Key("?", "This sheet"),
        Key("C", "Create"),
        Key("Esc", "Close, or back"),
    ),
)
ON_SOME: Final = KeyGroup(
    "Where a page offers it",
    (
        Key("J", "Move down in a list"),
        Key("K", "Move up in a list"),
        Key("Enter", "Open"),
        Key("E", "Edit"),
        Key("S", "Set the status"),
        Key("L", "Link"),
        Key("M", "Move elsewhere"),
        Key("U", "Undo"),
        Key("F", "Filter"),
        Key("X", "Choose several"),
        Key("A", "Accept"),
        Key("R", "Reject, or start a run"),
    ),
)


@pages.get("/keys")
async def keys(request: PageRequest) -> PageResponse:
    going = KeyGroup("Go", tuple(_goings(request.user)))
    if request.is_partial:
        return request.piece("keys/_sheet.html", groups=(EVERYWHERE, going), is_dialog=True)
    return await request.page(
        "keys/page.html", groups=(EVERYWHERE, ON_SOME, going), is_dialog=False
    )


def _goings(caller: Caller) -> Iterator[Key]:
    for group in NAVIGATION:
        for entry in group.entries:
            if entry.key and (caller.is_administrator or not entry.admin):
                yield Key(f"G {entry.key.upper()}", entry.name)
    yield Key("G I", "Your account")
