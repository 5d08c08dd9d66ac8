"""Snippets: the part of a text around the first match, and the positions to mark. Pure.

Marks are places, not signs within the text: a text may contain any sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from accord.hub.search.query import WordGroup
from accord.hub.search.words import is_reference, words

LENGTH: Final = 160
"""The approximate length of a snippet."""
BEFORE: Final = 40
"""Characters before the first mark."""
MAX_SCANNED: Final = 20_000
"""Scanned characters of a text with accents, since folding is slow."""

_WORD: Final = re.compile(r"[^\W_]+(?:-[0-9]+)?")


class Snippet(Struct, frozen=True):
    """A part of a text, with marks."""

    text: str
    marks: list[list[int]]
    """Start and end of each mark, in characters."""


class Snippets:
    """Snippets around the first match of a query; else the beginning of the text."""

    def __init__(self, groups: tuple[WordGroup, ...]) -> None:
        self._groups = groups
        self._plain = _plain(groups)

    def of(self, text: str) -> Snippet:
        plain = self._plain
        if plain is None or not text.isascii():
            return self._folded(text)
        lowered = text.lower()
        at = plain.search(lowered)
        begin = 0 if at is None else _begin(text, at.start())
        end = begin + LENGTH
        dots = 1 if begin else 0
        shown = text[begin:end]
        if shown.isprintable() and "  " not in shown and shown[:1] != " ":
            shown = shown.rstrip()
            marks = _marks(plain, lowered, at, begin - dots, end)
        else:  # collapsing blanks moves the match, so search again
            shown = " ".join(shown.split())
            lowered = shown.lower()
            marks = _marks(plain, lowered, plain.search(lowered), -dots, LENGTH)
        if dots:
            shown = f"…{shown}"
        return Snippet(f"{shown}…" if end < len(text) else shown, marks)

    def _folded(self, text: str) -> Snippet:
        """Return a snippet of text that needs more folding than letter case (slow path)."""
        begin = _begin(text, _first(text, self._groups))
        end = begin + LENGTH
        shown = " ".join(text[begin:end].split())
        if begin:
            shown = f"…{shown}"
        marks = [[*at.span()] for at in _found(shown, self._groups)]
        return Snippet(f"{shown}…" if end < len(text) else shown, marks)


def _marks(
    plain: re.Pattern[str], text: str, at: re.Match[str] | None, begin: int, end: int
) -> list[list[int]]:
    """Return the positions of a match and of those after it, relative to `begin`."""
    marks = []
    while at is not None:
        start, stop = at.span()
        marks.append([start - begin, min(stop, end) - begin])
        at = plain.search(text, stop, end)
    return marks


def _first(text: str, groups: tuple[WordGroup, ...]) -> int:
    """Return the position of the first match."""
    if groups:  # fast path: the word occurs as it was typed
        pattern = "|".join(re.escape(word) for group in groups for word in group.words)
        found = re.search(rf"(?i)\b(?:{pattern})", text)
        if found is not None:
            return found.start()
    return next((at.start() for at in _found(text, groups)), 0)


def _found(text: str, groups: tuple[WordGroup, ...]) -> Iterator[re.Match[str]]:
    """Yield the matching words."""
    scanned = _WORD.finditer(text, 0, MAX_SCANNED)
    return (at for at in scanned if _is(at[0], groups))


@lru_cache(256)
def _plain(groups: tuple[WordGroup, ...]) -> re.Pattern[str] | None:
    """Return a pattern for text that needs only case folding.

    None if that is not enough to find the words, as with reference ids.
    """
    terms = [(word, group.is_beginning) for group in groups for word in group.words]
    if not terms or any(is_reference(word) for word, _ in terms):
        return None
    # The literal word first and the lookbehind after it: the regex engine finds literals fast.
    ends = {True: r"[^\W_]*(?:-[0-9]+)?", False: r"(?![^\W_])"}
    escaped = [(re.escape(word), is_beginning) for word, is_beginning in terms]
    return re.compile(
        "|".join(rf"{word}(?<![^\W_]{word}){ends[is_beginning]}" for word, is_beginning in escaped)
    )


def _is(word: str, groups: tuple[WordGroup, ...]) -> bool:
    return any(
        folded.startswith(group.words) if group.is_beginning else folded in group.words
        for folded in words(word)
        for group in groups
    )


def _begin(text: str, first: int) -> int:
    """Return the start of a snippet: a word boundary some way before the first mark."""
    if first <= BEFORE:
        return 0
    place = first - BEFORE
    space = text.find(" ", place, first)
    return place if space < 0 else space + 1
