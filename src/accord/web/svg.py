"""Graphs and small charts as SVG.

They have only text and shapes, coloured by the style sheet. The functions do no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup, escape

from accord.web.graph_layout import (
    HEIGHT,
    LABEL_SIZE,
    MAX_GAP_X,
    TURN,
    WIDTH,
    Graph,
    GraphLayout,
    GraphNode,
    Point,
    place,
    shortened,
    text_width,
    wrapped,
)

TITLE_SIZE: Final = 14.5
"""The font size to measure titles with. It is larger than the real one, because bold letters are
wider, in some fonts much wider."""
NOTE_SIZE: Final = 12.0
INNER: Final = WIDTH - 26.0
"""The width for text in a box. A title has less width, because a dot is drawn before it."""
DOT: Final = 14.0
MAX_NOTE: Final = 110.0


def draw(graph: Graph, label: str) -> Markup:
    """Draw a graph as SVG; `label` describes it for screen readers."""
    placed = place(graph)
    size = f"{placed.width:.0f}", f"{placed.height:.0f}"
    pieces = "".join((*_lines(placed), *_boxes(graph, placed)))
    # Links inside role img are not reachable: a graph with links is a group.
    role = "group" if any(node.href for node in graph.nodes) else "img"
    return Markup(
        f'<svg class="graph" role="{role}" aria-label="{escape(label)}" width="{size[0]}" '
        f'height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}" xmlns="http://www.w3.org/2000/svg">'
        f"{pieces}</svg>"
    )


def _lines(placed: GraphLayout) -> Iterator[str]:
    for (edge, points), label in zip(placed.ways, placed.labels, strict=True):
        yield f'<path class="edge {edge.tone} {edge.line}" d="{_curve(points)}"/>'
        end = points[-1]
        yield (
            f'<path class="tip {edge.tone}" d="M{end.x - 7:.0f} {end.y - 4:.1f}'
            f'L{end.x:.0f} {end.y:.1f}L{end.x - 7:.0f} {end.y + 4:.1f}Z"/>'
        )
        if label is not None:
            short = shortened(edge.label, MAX_GAP_X - 20, LABEL_SIZE)
            whole = f"<title>{escape(edge.label)}</title>" if short != edge.label else ""
            yield (
                f'<text class="edge-label {edge.tone}" text-anchor="middle" x="{label.x:.0f}" '
                f'y="{label.y:.0f}">{whole}{escape(short)}</text>'
            )


def _curve(points: Sequence[Point]) -> str:
    parts = [f"M{points[0].x:.0f} {points[0].y:.1f}"]
    last = len(points) - 2
    for at, (before, after) in enumerate(pairwise(points)):
        if before.y == after.y and before.x != after.x:
            parts.append(f"H{after.x:.0f}")
            continue
        half = (after.x - before.x) / 2
        begin, end = before.x + half, after.x - half
        if before.x == after.x:  # a line that leads back turns beside its box
            begin = end = before.x + (-TURN if at == last else TURN)
        parts.append(
            f"C{begin:.0f} {before.y:.1f} {end:.0f} {after.y:.1f} {after.x:.0f} {after.y:.1f}"
        )
    return "".join(parts)


def _boxes(graph: Graph, placed: GraphLayout) -> Iterator[str]:
    for node in graph.nodes:
        at = placed.boxes[node.id]
        box = _box(node, at.x, at.y - HEIGHT / 2)
        if not node.href:
            yield box
            continue
        current = ' aria-current="true"' if node.is_marked else ""
        yield (
            f'<a href="{escape(node.href)}" aria-label="{escape(_whole(node))}"{current}>{box}</a>'
        )


def _whole(node: GraphNode) -> str:
    return ", ".join(each for each in (node.title, node.subtitle, node.note) if each)


def _box(node: GraphNode, x: float, y: float) -> str:
    marked = " marked" if node.is_marked else ""
    note = shortened(node.note, MAX_NOTE, NOTE_SIZE)
    room = INNER - (text_width(note, NOTE_SIZE) + 8 if note else 0)
    lines = wrapped(node.title, INNER - DOT, TITLE_SIZE)
    top = 24 if len(lines) > 1 else 30
    title = "".join(
        f'<text class="title" x="28" y="{top + 16 * at}">{escape(line)}</text>'
        for at, line in enumerate(lines)
    )
    return (
        f'<g class="node {node.tone}{marked}" data-node="{escape(node.id)}" '
        f'transform="translate({x:.0f} {y:.0f})"><title>{escape(_whole(node))}</title>'
        f'<rect width="{WIDTH:.0f}" height="{HEIGHT:.0f}" rx="8"/>'
        f'<circle cx="16" cy="{20 if len(lines) > 1 else 26}" r="4"/>'
        f"{title}"
        f'<text class="subtitle" x="14" y="57">'
        f"{escape(shortened(node.subtitle, room, NOTE_SIZE))}</text>"
        f'<text class="note" x="{WIDTH - 12:.0f}" y="57" text-anchor="end">{escape(note)}</text>'
        f"</g>"
    )


BAR_HEIGHT: Final = 8


def bar(part: int, whole: int, width: int = 120) -> Markup:
    """Draw a bar for the share of `part` in `whole`; empty if the whole is 0."""
    filled = part / whole * width if whole else 0.0
    return Markup(
        '<svg class="share" width="{w}" height="{h}" viewBox="0 0 {w} {h}" aria-hidden="true" '
        'focusable="false"><rect class="track" width="{w}" height="{h}" rx="4"/>'
        '<rect class="part" width="{f}" height="{h}" rx="4"/></svg>'
    ).format(w=width, h=BAR_HEIGHT, f=f"{filled:.1f}")


def percent(part: int, whole: int) -> str:
    """Return the share of `part` in `whole`, such as `83 %`.

    The share is rounded down, so that only a complete one is 100 %. If `whole` is 0, return `none`.
    """
    return f"{100 * part // whole} %" if whole else "none"
