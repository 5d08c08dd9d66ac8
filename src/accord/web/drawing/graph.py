"""What is drawn: boxes, and lines between them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from accord.web.states import Tone

Line: TypeAlias = Literal["solid", "dashed"]


class Node(Struct, frozen=True, kw_only=True):
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
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
