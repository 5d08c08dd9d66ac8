"""Where a text says what was asked for: a piece of it, and which parts of that to mark. Pure.

Marks are places, not signs within the text: a text may contain any sign.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from accord.hub.search.matching import Group
from accord.hub.search.words import words

LENGTH: Final = 160
"""Of a snippet, about."""
BEFORE: Final = 40
"""How much of the text stands before the first mark."""
MAX_SCANNED: Final = 20_000
"""In how many characters accents are looked through, which takes its time."""

_WORD: Final = re.compile(r"[^\W_]+(?:-[0-9]+)?")


class Snippet(Struct, frozen=True):
    """A piece of a text."""

    text: str
    marks: list[list[int]]
    """Where each mark begins and ends, in characters."""


def snippet(text: str, groups: tuple[Group, ...]) -> Snippet:
    """The piece of `text` around the first of the words; its beginning where it has none."""
    first = _first(text, groups)
    begin = _word_edge(text, max(0, first - BEFORE))
    piece = text[begin : begin + LENGTH]
    shown = ("…" if begin else "") + " ".join(piece.split())
    if begin + LENGTH < len(text):
        shown += "…"
    return Snippet(
        shown, [[at.start(), at.end()] for at in _WORD.finditer(shown) if _is(at[0], groups)]
    )


def _first(text: str, groups: tuple[Group, ...]) -> int:
    """Where the first word stands that was asked for."""
    asked = [re.escape(word) for group in groups for word in group.words]
    if not asked:
        return 0
    plain = re.search(rf"(?i)\b(?:{'|'.join(asked)})", text)
    if plain is not None:
        return plain.start()
    scanned = _WORD.finditer(text, 0, MAX_SCANNED)
    return next((at.start() for at in scanned if _is(at[0], groups)), 0)


def _is(word: str, groups: tuple[Group, ...]) -> bool:
    return any(
        folded.startswith(group.words) if group.is_beginning else folded in group.words
        for folded in words(word)
        for group in groups
    )


def _word_edge(text: str, place: int) -> int:
    """The beginning of the next word, where `place` is within one."""
    space = text.find(" ", place, place + BEFORE) if place else -1
    return place if space < 0 else space + 1
