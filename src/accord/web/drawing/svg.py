"""A graph as SVG: text and shapes only, coloured by the style sheet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup, escape

from accord.web.drawing.graph import Graph, Node
from accord.web.drawing.layout import HEIGHT, WIDTH, Placed, Point, place

MAX_TITLE: Final = 22
MAX_SUBTITLE: Final = 18
MAX_NOTE: Final = 12


def draw(graph: Graph, label: str) -> Markup:
    """The picture of a graph; `label` says what it shows to who cannot see it."""
    placed = place(graph)
    size = f"{placed.width:.0f}", f"{placed.height:.0f}"
    pieces = "".join((*_lines(placed), *_boxes(graph, placed)))
    return Markup(
        f'<svg class="graph" role="img" aria-label="{escape(label)}" width="{size[0]}" '
        f'height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}" xmlns="http://www.w3.org/2000/svg">'
        f"{pieces}</svg>"
    )


def _lines(placed: Placed) -> Iterator[str]:
    for edge, points in placed.ways:
        label = f"<title>{escape(edge.label)}</title>" if edge.label else ""
        yield f'<path class="edge {edge.tone} {edge.line}" d="{_curve(points)}">{label}</path>'
        if edge.label:
            middle = _middle(points)
            yield (
                f'<text class="edge-label" text-anchor="middle" x="{middle.x:.0f}" '
                f'y="{middle.y - 4:.0f}">{escape(edge.label)}</text>'
            )


def _curve(points: Sequence[Point]) -> str:
    first, *others = points
    parts = [f"M{first.x:.0f} {first.y:.0f}"]
    for before, after in zip(points, others, strict=False):
        half = (after.x - before.x) / 2
        parts.append(
            f"C{before.x + half:.0f} {before.y:.0f} {after.x - half:.0f} {after.y:.0f} "
            f"{after.x:.0f} {after.y:.0f}"
        )
    return "".join(parts)


def _middle(points: Sequence[Point]) -> Point:
    at = len(points) // 2
    before, after = points[at - 1], points[at]
    return Point((before.x + after.x) / 2, (before.y + after.y) / 2)


def _boxes(graph: Graph, placed: Placed) -> Iterator[str]:
    for node in graph.nodes:
        at = placed.boxes[node.id]
        box = _box(node, at.x, at.y - HEIGHT / 2)
        yield f'<a href="{escape(node.href)}">{box}</a>' if node.href else box


def _box(node: Node, x: float, y: float) -> str:
    marked = " marked" if node.is_marked else ""
    whole = " · ".join(each for each in (node.title, node.subtitle, node.note) if each)
    return (
        f'<g class="node {node.tone}{marked}" data-node="{escape(node.id)}" '
        f'transform="translate({x:.0f} {y:.0f})"><title>{escape(whole)}</title>'
        f'<rect width="{WIDTH:.0f}" height="{HEIGHT:.0f}" rx="8"/>'
        f'<circle cx="16" cy="19" r="4"/>'
        f'<text class="title" x="28" y="23">{escape(_short(node.title, MAX_TITLE))}</text>'
        f'<text class="subtitle" x="14" y="41">{escape(_short(node.subtitle, MAX_SUBTITLE))}</text>'
        f'<text class="note" x="{WIDTH - 12:.0f}" y="41" text-anchor="end">'
        f"{escape(_short(node.note, MAX_NOTE))}</text></g>"
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
