"""Where boxes go: in layers from left to right, so that few lines cross. Pure.

1. Lines that close a circle are turned round, so that all lead on.
2. A box stands one layer behind the last of those that lead to it; what nothing leads to stands
   right before what it leads to.
3. A line across several layers has a place of its own in each of them, and one that leads back has
   such places below the boxes.
4. Sweeps over the layers sort each by where its neighbours stand; the order with the fewest
   crossings is kept.
5. Each box is moved to the middle of its neighbours, as far as the others in its layer let it.
6. Between two layers there is room for what is written on the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from msgspec import Struct

from accord.web.drawing.graph import Edge, Graph
from accord.web.drawing.layers import Layered, in_layers
from accord.web.drawing.ordering import FEW_SWEEPS, MANY, put_in_order
from accord.web.drawing.texts import text_width

WIDTH: Final = 200.0
HEIGHT: Final = 68.0
GAP_X: Final = 52.0
MAX_GAP_X: Final = 180.0
GAP_Y: Final = 30.0
LINE_HEIGHT: Final = 12.0
"""Of the place that a line has in a layer it crosses."""
MARGIN: Final = 14.0
TURN: Final = 24.0
"""How far a line that leads back goes out to the side."""
LABEL_SIZE: Final = 11.0
LABEL_HEIGHT: Final = 14.0
SWEEPS: Final = 8
BOX_WEIGHT: Final = 8.0
"""How much more it counts where a box stands than where a line goes through."""


class Point(Struct, frozen=True):
    x: float
    y: float


class Placed(Struct, frozen=True):
    """A graph with places."""

    boxes: Mapping[str, Point]
    """The middle of each box's left edge."""
    ways: Sequence[tuple[Edge, tuple[Point, ...]]]
    """Each line with the points that it goes through, all of them level."""
    labels: Sequence[Point | None]
    """The middle of what is written on each line, below which it stands; None where nothing is."""
    width: float
    height: float


def place(graph: Graph) -> Placed:
    """Where everything goes. Lines to boxes that are not there are left out."""
    names = [node.id for node in graph.nodes]
    number = {name: at for at, name in enumerate(names)}
    edges = [each for each in graph.edges if each.source in number and each.target in number]
    layered = in_layers(len(names), [(number[each.source], number[each.target]) for each in edges])
    put_in_order(layered)
    ys = _heights(layered)
    lefts = _columns(layered, edges)
    xs = {spot: lefts[at] for at, layer in enumerate(layered.layers) for spot in layer}
    ways = [
        (edge, _way(layered, chain, is_back, xs, ys))
        for edge, chain, is_back in zip(edges, layered.chains, layered.is_back, strict=True)
    ]
    right = lefts[-1] + WIDTH if lefts else 0.0
    right += TURN if _turns_at(layered, len(lefts) - 1) else 0.0
    return Placed(
        {name: Point(xs[at], ys[at]) for at, name in enumerate(names)},
        ways,
        _labels(ways),
        right + MARGIN,
        max((y + _size(layered, spot) / 2 for spot, y in ys.items()), default=0.0) + MARGIN,
    )


def _size(layered: Layered, spot: int) -> float:
    return HEIGHT if spot < layered.boxes else LINE_HEIGHT


def _turns_at(layered: Layered, column: int) -> bool:
    """Whether a line that leads back turns beside a layer."""
    ends = (end for chain, back in zip(layered.chains, layered.is_back, strict=True) if back
            for end in (chain[0], chain[-1]))  # fmt: skip
    there = set(layered.layers[column]) if 0 <= column < len(layered.layers) else set()
    return any(end in there for end in ends)


def _columns(layered: Layered, edges: Sequence[Edge]) -> list[float]:
    """Where each layer begins: lines that say something need room for it before the next one."""
    column = {spot: at for at, layer in enumerate(layered.layers) for spot in layer}
    gaps = [GAP_X] * len(layered.layers)
    for edge, chain, is_back in zip(edges, layered.chains, layered.is_back, strict=True):
        if edge.label and not is_back:
            at = column[chain[0]]
            wanted = text_width(edge.label, LABEL_SIZE) + 28
            gaps[at] = min(max(gaps[at], wanted), MAX_GAP_X)
    lefts = []
    x = MARGIN + (TURN if _turns_at(layered, 0) else 0.0)
    for gap in gaps:
        lefts.append(x)
        x += WIDTH + gap
    return lefts


def _heights(layered: Layered) -> dict[int, float]:
    """The middle of each spot: sweeps to the right and to the left move each to the middle of what
    it is joined with there, then to the middle of all; the last two make plain lines straight."""
    left, right = layered.joined()
    ends = layered.ends()
    ys: dict[int, float] = {}
    for layer in layered.layers:
        _settle(layered, layer, [0.0] * len(layer), ys)
    for sweep in range(SWEEPS if len(ys) < MANY else FEW_SWEEPS // 2):
        to_right = sweep % 2 == 0
        near = left if to_right else right
        for layer in layered.layers if to_right else layered.layers[::-1]:
            _settle(layered, layer, [_wanted(spot, near, ends, ys) for spot in layer], ys)
    both = [[*one, *other] for one, other in zip(left, right, strict=True)]
    for layer in layered.layers:
        _settle(layered, layer, [_wanted(spot, both, ends, ys) for spot in layer], ys)
    for one, other, layers in (
        (left, right, layered.layers),
        (right, left, layered.layers[::-1]),
    ):
        for layer in layers:
            _settle(layered, layer, [_straight(spot, one, other, ends, ys) for spot in layer], ys)
    top = min((y - _size(layered, spot) / 2 for spot, y in ys.items()), default=0.0)
    return {spot: round(y - top + MARGIN, 1) for spot, y in ys.items()}


def _wanted(
    spot: int, near: Sequence[Sequence[int]], ends: Mapping[int, int], ys: Mapping[int, float]
) -> float:
    """Where a spot would stand if it were alone: the ends of a line that leads back stand below
    their boxes."""
    if spot in ends:
        return ys[ends[spot]] + (HEIGHT + LINE_HEIGHT) / 2 + GAP_Y
    found = near[spot]
    return sum([ys[each] for each in found]) / len(found) if found else ys[spot]


def _straight(
    spot: int,
    near: Sequence[Sequence[int]],
    back: Sequence[Sequence[int]],
    ends: Mapping[int, int],
    ys: Mapping[int, float],
) -> float:
    """Where a spot stands so that a line without branches is straight; else where it stands."""
    if spot in ends:
        return _wanted(spot, near, ends, ys)
    found = near[spot]
    alone = len(found) == 1 and len(back[found[0]]) == 1
    return ys[found[0]] if alone else ys[spot]


def _settle(
    layered: Layered, layer: Sequence[int], wanted: Sequence[float], ys: dict[int, float]
) -> None:
    """Move each to where it wants to be, in their order and with room between them. Those that push
    each other stand as a block where that is best for all; boxes count for more than lines.

    A block is the sum of where each of it would have it begin, by weight, the sum of the weights,
    its height, and how many are in it; plain lists, as there are thousands in large graphs."""
    boxes = layered.boxes
    wishes: list[float] = []
    weights: list[float] = []
    heights: list[float] = []
    counts: list[int] = []
    for spot, want in zip(layer, wanted, strict=True):
        height, weight = (HEIGHT, BOX_WEIGHT) if spot < boxes else (LINE_HEIGHT, 1.0)
        wish, count = weight * (want - height / 2), 1
        while wishes and wishes[-1] / weights[-1] + heights[-1] + GAP_Y > wish / weight:
            above = heights.pop() + GAP_Y
            wish += wishes.pop() - weight * above
            weight += weights.pop()
            height += above
            count += counts.pop()
        wishes.append(wish)
        weights.append(weight)
        heights.append(height)
        counts.append(count)
    spots = iter(layer)
    for wish, weight, count in zip(wishes, weights, counts, strict=True):
        y = wish / weight
        for spot in islice(spots, count):
            size = HEIGHT if spot < boxes else LINE_HEIGHT
            ys[spot] = y + size / 2
            y += size + GAP_Y


def _way(
    layered: Layered,
    chain: Sequence[int],
    is_back: bool,
    xs: Mapping[int, float],
    ys: Mapping[int, float],
) -> tuple[Point, ...]:
    """The points of a line; between the first and the last box it is level within every layer."""
    first, *between, last = chain
    points = [Point(xs[first] + WIDTH, ys[first])]
    for spot in between:
        sides = (xs[spot], xs[spot] + WIDTH)
        points += [Point(x, ys[spot]) for x in (reversed(sides) if is_back else sides)]
    return (*points, Point(xs[last], ys[last]))


def _labels(ways: Sequence[tuple[Edge, tuple[Point, ...]]]) -> list[Point | None]:
    """Where the words of each line stand: in the gap behind the box that it comes from, or on the
    level part of one that leads back; further down where other words stand already."""
    taken: list[tuple[float, float, float]] = []
    found: list[Point | None] = []
    for edge, points in ways:
        if not edge.label:
            found.append(None)
            continue
        before, after = _labelled(points)
        x, y = (before.x + after.x) / 2, (before.y + after.y) / 2 - 5
        half = min(text_width(edge.label, LABEL_SIZE), MAX_GAP_X) / 2
        while any(
            left - half < x < right + half and abs(y - other) < LABEL_HEIGHT
            for left, right, other in taken
        ):
            y += LABEL_HEIGHT
        taken.append((x - half, x + half, y))
        found.append(Point(x, y))
    return found


def _labelled(points: Sequence[Point]) -> tuple[Point, Point]:
    pairs = list(pairwise(points))
    level = [pair for pair in pairs if pair[1].x < pair[0].x]
    return level[len(level) // 2] if level else pairs[0]
