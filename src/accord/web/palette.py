"""What can be done from anywhere by its name, and how what somebody typed finds it. Pure.

A command leads to a page or posts a form of ours, so that the palette can do nothing that pages
cannot do too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from accord.hub.domain.rules import Kind, parse_reference
from accord.operations.context import Caller, Right
from accord.web.layout import NAVIGATION

_WORD: Final = re.compile(r"\w+")


class PaletteCommand(Struct, frozen=True, kw_only=True):
    """One thing to do, or one place to go to."""

    label: str
    href: str = ""
    """Where it leads to; empty of what is posted."""
    post: str = ""
    """Where it is posted to."""
    fields: tuple[tuple[str, str], ...] = ()
    """What is posted."""
    words: str = ""
    """Other words by which people look for it."""
    right: Right = "read"
    keys: str = ""
    """Which keys do the same, as they are pressed."""


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
"""Beside those of the rail."""
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
"""By kind: what is created below one."""


def places(caller: Caller) -> Iterator[PaletteCommand]:
    """Where somebody can go."""
    for group in NAVIGATION:
        for entry in group.entries:
            if caller.is_administrator or not entry.admin:
                keys = f"g {entry.key}" if entry.key else ""
                also = f"{group.title} {entry.words}"
                yield PaletteCommand(label=entry.name, href=entry.path, words=also, keys=keys)
    yield from _allowed(caller, PLACES)


def actions(caller: Caller, at: str) -> Iterator[PaletteCommand]:
    """What somebody can do, on the page at the path `at` first."""
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
    """Those for which every word of the query begins a word of theirs; first those whose label has
    them, and begins with the query."""
    asked = words(query)

    def rank(each: PaletteCommand) -> tuple[bool, bool]:
        return not is_meant(each, query), not _matches(asked, words(each.label))

    found = [each for each in commands if _matches(asked, words(f"{each.label} {each.words}"))]
    return sorted(found, key=rank)


def is_meant(command: PaletteCommand, query: str) -> bool:
    """Whether somebody types its name: its beginning, or some words of it."""
    asked = words(query)
    begins = command.label.casefold().startswith(" ".join(asked))
    return begins or (len(asked) > 1 and _matches(asked, words(command.label)))


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _matches(asked: Iterable[str], words: list[str]) -> bool:
    return all(any(word.startswith(each) for word in words) for each in asked)


def _allowed(caller: Caller, commands: Iterable[PaletteCommand]) -> Iterator[PaletteCommand]:
    return (each for each in commands if caller.may(each.right))


def _about_item(at: str) -> Iterator[PaletteCommand]:
    """What is done to the item that a page is about."""
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
