"""The sheet of keys: those of all pages. A script puts those of the page before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from accord.operations.caller import Caller
from accord.web.answers import Answer
from accord.web.frame import RAIL
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


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
async def keys(turn: Turn) -> Answer:
    going = KeyGroup("Go", tuple(_goings(turn.who)))
    if turn.is_partial:
        return turn.piece("keys/_sheet.html", groups=(EVERYWHERE, going), is_dialog=True)
    return await turn.page("keys/page.html", groups=(EVERYWHERE, ON_SOME, going), is_dialog=False)


def _goings(caller: Caller) -> Iterator[Key]:
    for group in RAIL:
        for entry in group.entries:
            if entry.key and (caller.is_administrator or not entry.admin):
                yield Key(f"G {entry.key.upper()}", entry.name)
    yield Key("G I", "Your account")
