"""The command palette and the sheet of keyboard shortcuts.

A command opens a page or posts a form, so that the palette can do nothing that pages cannot do. The
browser requests the palette after every typed letter, so a request runs few and fast operations.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.rules import Kind, parse_reference
from accord.operations.context import Caller, Right
from accord.operations.errors import ServiceError
from accord.web.formatting import search_result
from accord.web.layout import NAVIGATION
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse, is_local_path

_WORD: Final = re.compile(r"\w+")


class PaletteCommand(Struct, frozen=True, kw_only=True):
    """An entry of the command palette: a page or an action."""

    label: str
    href: str = ""
    """The path of a page; empty for an action."""
    post: str = ""
    """The path to which an action sends a POST request; empty for a page."""
    fields: tuple[tuple[str, str], ...] = ()
    """The form fields in the POST request."""
    words: str = ""
    """Other words that find the command."""
    right: Right = "read"
    keys: str = ""
    """The keyboard shortcut with the same effect."""


PLACES: Final = (
    PaletteCommand(
        label="Your account", href="/account", words="password sessions theme profile", keys="g i"
    ),
    PaletteCommand(label="Coverage matrix", href="/traceability/matrix", words="traceability gaps"),
    PaletteCommand(
        label="Suspect links", href="/traceability/suspects", words="traceability confirm"
    ),
    PaletteCommand(label="Approvals", href="/approvals", words="runs decide workflows"),
    PaletteCommand(label="Steering documents", href="/steering-documents", words="std"),
    PaletteCommand(label="Baselines", href="/baselines", words="compare release"),
    PaletteCommand(label="All keys", href="/keys", words="shortcuts keyboard help", keys="?"),
)
"""The pages that the palette offers besides the pages in the navigation."""
ACTIONS: Final = (
    PaletteCommand(label="Create an epic", href="/new?kind=epic", words="new add", right="write"),
    PaletteCommand(
        label="Create a user story", href="/new?kind=user_story", words="new add", right="write"
    ),
    PaletteCommand(
        label="Create acceptance criteria",
        href="/new?kind=acceptance_criteria",
        words="new add",
        right="write",
    ),
    PaletteCommand(
        label="Create a requirement", href="/new?kind=requirement", words="new add", right="write"
    ),
    PaletteCommand(
        label="Create a steering document",
        href="/new?kind=steering_document",
        words="new add",
        right="write",
    ),
    PaletteCommand(
        label="Create a baseline", href="/baselines/new", words="new add", right="write"
    ),
    PaletteCommand(
        label="Create a token", href="/tokens/new", words="new connect assistant mcp api"
    ),
    PaletteCommand(label="Create a prompt", href="/prompts/new", words="new add", right="admin"),
    PaletteCommand(
        label="Create a workflow", href="/workflows/new", words="new add definition", right="admin"
    ),
    PaletteCommand(label="Register an agent", href="/agents/new", words="new add", right="admin"),
    PaletteCommand(
        label="Add a person", href="/users/new", words="new user invite", right="accounts"
    ),
    PaletteCommand(
        label="Import a file", href="/import", words="csv json markdown load", right="write"
    ),
    PaletteCommand(label="Export", href="/export", words="download csv json markdown"),
)
PERSONAL: Final = (
    ("Use the light theme", "light"),
    ("Use the dark theme", "dark"),
    ("Use the theme of the system", ""),
)
_BELOW: Final[dict[Kind, tuple[tuple[str, str], ...]]] = {
    "epic": (("Create a user story in {}", "user_story"),),
    "user_story": (
        ("Create a requirement in {}", "requirement"),
        ("Create acceptance criteria in {}", "acceptance_criteria"),
    ),
}
"""The actions that create an item below the current page's item, by the kind of that item."""


def places(caller: Caller) -> Iterator[PaletteCommand]:
    """Yield the pages that a user can open."""
    for group in NAVIGATION:
        for entry in group.entries:
            if caller.is_administrator or not entry.admin:
                keys = f"g {entry.key}" if entry.key else ""
                also = f"{group.title} {entry.words}"
                yield PaletteCommand(label=entry.name, href=entry.path, words=also, keys=keys)
    yield from _allowed(caller, PLACES)


def actions(caller: Caller, at: str) -> Iterator[PaletteCommand]:
    """Yield the actions that a user may do.

    Actions on the item of the current page come first; `at` is the path of the page.
    """
    yield from _allowed(caller, _about_item(at))
    yield from _allowed(caller, ACTIONS)
    for label, theme in PERSONAL:
        yield PaletteCommand(
            label=label,
            post="/theme",
            fields=(("theme", theme), ("next", at)),
            words="dark light appearance colours",
        )
    yield PaletteCommand(label="Sign out", post="/sign-out", words="log out leave")


def matching(commands: Iterable[PaletteCommand], query: str) -> list[PaletteCommand]:
    """Return the commands that match a query.

    Each word of the query must be the beginning of a word of the command. Commands for which
    `is_meant` returns true come first, then commands with all words of the query in their label.
    """
    query_words = split_words(query)

    def rank(each: PaletteCommand) -> tuple[bool, bool]:
        return not is_meant(each, query), not _matches(query_words, split_words(each.label))

    found = [
        each
        for each in commands
        if _matches(query_words, split_words(f"{each.label} {each.words}"))
    ]
    return sorted(found, key=rank)


def is_meant(command: PaletteCommand, query: str) -> bool:
    """Return true if the query clearly refers to this command.

    That is so if the label begins with the query, or if the query has several words and each of
    them is the beginning of a word of the label.
    """
    query_words = split_words(query)
    begins = command.label.casefold().startswith(" ".join(query_words))
    return begins or (len(query_words) > 1 and _matches(query_words, split_words(command.label)))


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _matches(query_words: Iterable[str], words: list[str]) -> bool:
    return all(any(word.startswith(each) for word in words) for each in query_words)


def _allowed(caller: Caller, commands: Iterable[PaletteCommand]) -> Iterator[PaletteCommand]:
    return (each for each in commands if caller.may(each.right))


def _about_item(at: str) -> Iterator[PaletteCommand]:
    """Yield the actions on the item that the page `at` is about, if any."""
    name = at.partition("?")[0].split("/")[2] if at.startswith("/items/") else ""
    reference = parse_reference(name)
    if reference is None:
        return
    for label, kind in _BELOW.get(reference.kind, ()):
        yield PaletteCommand(
            label=label.format(reference),
            href=f"/new?kind={kind}&parent={reference}",
            words="new add",
            right="write",
        )
    yield PaletteCommand(
        label=f"Show {reference} in the graph",
        href=f"/traceability/graph?item={reference}",
        words="links impact relationships traceability",
    )


pages: Final = Pages()

MAX_QUERY: Final = 200
MAX_EACH: Final = 6
"""The most commands of a group that are shown for a query."""
MAX_NAMED: Final = 50
"""The most prompts and the most workflows that are searched."""


@pages.get("/palette")
async def palette(request: PageRequest) -> PageResponse:
    query = request.query["q"].strip()[:MAX_QUERY]
    at = request.query["at"] if is_local_path(request.query["at"]) else "/"
    found, named = (
        await asyncio.gather(_items(request, query), _named_commands(request))
        if query
        else ([], [])
    )
    limit = MAX_EACH if query else None
    to_do = matching([*actions(request.user, at), *named], query)[:limit]
    to_go = matching(places(request.user), query)[:limit]
    return request.piece(
        "palette/_options.html",
        asked=query,
        items=[search_result(each) for each in found],
        actions=to_do,
        places=to_go,
        order=_group_order(query, to_do, to_go),
    )


def _group_order(query: str, to_do: list[PaletteCommand], to_go: list[PaletteCommand]) -> list[str]:
    """Return the order of the result groups for a query.

    Groups with a command for which `is_meant` returns true come first.
    """
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


async def _named_commands(request: PageRequest) -> list[PaletteCommand]:
    """Return the actions that start a workflow or activate a prompt, found by its name."""
    found = await asyncio.gather(_runs(request), _prompts(request))
    return [command for some in found for command in some]


async def _runs(request: PageRequest) -> Iterable[PaletteCommand]:
    if not request.user.may("run"):
        return []
    return [
        PaletteCommand(
            label=f"Start {each.name}", href=f"/workflows/{each.name}#start", words="run workflow"
        )
        for each in await _list_or_empty(request, "list_workflows")
        if each.active
    ]


async def _prompts(request: PageRequest) -> Iterable[PaletteCommand]:
    if not request.user.is_administrator:
        return []
    return [
        PaletteCommand(
            label=f"Activate the prompt {each.name}",
            post=f"/prompts/{each.reference_id}/activate",
            words=each.reference_id,
        )
        for each in await _list_or_empty(request, "list_prompts", detail="concise")
        if not each.active
    ]


async def _list_or_empty(request: PageRequest, operation: str, **arguments: Any) -> list[Any]:
    try:
        found = await request.run(operation, limit=MAX_NAMED, **arguments)
    except ServiceError:  # without the right to list them the others are shown
        return []
    return list(found.items)


class Key(Struct, frozen=True):
    """A keyboard shortcut: keys pressed in sequence, or together if joined with `+`."""

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
    going = KeyGroup("Go", tuple(_navigation_keys(request.user)))
    if request.is_partial:
        return request.piece("keys/_sheet.html", groups=(EVERYWHERE, going), is_dialog=True)
    return await request.page(
        "keys/page.html", groups=(EVERYWHERE, ON_SOME, going), is_dialog=False
    )


def _navigation_keys(caller: Caller) -> Iterator[Key]:
    for group in NAVIGATION:
        for entry in group.entries:
            if entry.key and (caller.is_administrator or not entry.admin):
                yield Key(f"G {entry.key.upper()}", entry.name)
    yield Key("G I", "Your account")
