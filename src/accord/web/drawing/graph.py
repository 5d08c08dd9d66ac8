"""Graphs to draw: boxes, lines between them, and the estimated width of text. Pure."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias
from unicodedata import east_asian_width

from msgspec import Struct

from accord.web.formatting import Tone

Line: TypeAlias = Literal["solid", "dashed"]


class GraphNode(Struct, frozen=True, kw_only=True):
    """A box."""

    id: str
    title: str
    subtitle: str = ""
    """Who does it, or what it is."""
    note: str = ""
    """At the right: a state, a time."""
    tone: Tone = "idle"
    href: str = ""
    is_marked: bool = False
    """Whether it stands out, as what is looked at does."""


class Edge(Struct, frozen=True, kw_only=True):
    """A line from one box to another."""

    source: str
    target: str
    label: str = ""
    line: Line = "solid"
    tone: Tone = "idle"


class Graph(Struct, frozen=True):
    nodes: tuple[GraphNode, ...]
    edges: tuple[Edge, ...]


_NARROW: Final = frozenset("iIjl.,:;'|!()[]{}ftr -/\\`")
_WIDE: Final = frozenset("mwMW@%—…")


def text_width(text: str, size: float) -> float:
    """The width of a text in letters of this size, rather too much than too little."""
    return sum(map(_of, text)) * size


def shortened(text: str, most: float, size: float) -> str:
    """As much of a text as is at most so wide."""
    text = text[: int(most / (size * 0.3)) + 1]  # nothing is read that cannot be shown
    if text_width(text, size) <= most:
        return text
    width = _of("…")
    for at, letter in enumerate(text):
        width += _of(letter)
        if width * size > most:
            return f"{text[:at].rstrip()}…"
    return text


def wrapped(text: str, most: float, size: float) -> list[str]:
    """Break a text into at most two lines of this width, at a word where one fits."""
    if text_width(text, size) <= most:
        return [text]
    first = shortened(text, most, size).removesuffix("…")
    if not text[len(first) :].startswith(" "):
        whole, space, _ = first.rpartition(" ")
        first = whole if space else first
    return [first, shortened(text[len(first) :].lstrip(), most, size)]


def _of(letter: str) -> float:
    if letter in _NARROW:
        return 0.4
    if letter in _WIDE or letter.isupper():
        return 0.8
    return 1.05 if east_asian_width(letter) in "WF" else 0.62
