"""Where boxes go: in layers from left to right, so that few lines cross. Pure.

1. Lines that close a circle are turned round, so that all lead on.
2. A box stands one layer behind the last of those that lead to it.
3. A line across several layers bends in each of them.
4. Sweeps over the layers sort each by where its neighbours stand.
5. Each box is moved to the middle of its neighbours, as far as the others in its layer let it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from accord.web.drawing.graph import Edge, Graph

SWEEPS: Final = 8
WIDTH: Final = 176.0
HEIGHT: Final = 52.0
GAP_X: Final = 64.0
GAP_Y: Final = 28.0
BEND_HEIGHT: Final = 16.0
MARGIN: Final = 12.0


class Point(Struct, frozen=True):
    x: float
    y: float


class Placed(Struct, frozen=True):
    """A graph with places."""

    boxes: Mapping[str, Point]
    """The middle of each box's left edge."""
    ways: Sequence[tuple[Edge, tuple[Point, ...]]]
    """Each line with the points that it goes through."""
    width: float
    height: float


def place(graph: Graph) -> Placed:
    """Where everything goes. Lines to boxes that are not there are left out."""
    ids = [node.id for node in graph.nodes]
    edges = [each for each in graph.edges if each.source in set(ids) and each.target in set(ids)]
    forward = _forward(ids, edges)
    layer = _layers(ids, forward)
    layers, chains = _with_bends(ids, layer, forward)
    links = [pair for chain in chains for pair in pairwise(chain)]
    _sort(layers, links)
    ys = _heights(layers, links, set(ids))
    xs = {
        id: MARGIN + column * (WIDTH + GAP_X) for column, each in enumerate(layers) for id in each
    }
    boxes = {id: Point(xs[id], ys[id]) for id in ids}
    ways = [
        (edge, _way(chain, xs, ys, edge.source != pair[0]))
        for edge, pair, chain in zip(edges, forward, chains, strict=True)
    ]
    bottom = max((point.y for point in boxes.values()), default=0.0) + HEIGHT / 2
    right = max((point.x for point in boxes.values()), default=0.0) + WIDTH
    return Placed(boxes, ways, right + MARGIN, bottom + MARGIN)


def _forward(ids: Sequence[str], edges: Sequence[Edge]) -> list[tuple[str, str]]:
    """The ends of each line, turned round where it would lead back."""
    after: dict[str, list[str]] = {id: [] for id in ids}
    for edge in edges:
        after[edge.source].append(edge.target)
    done: set[str] = set()
    open_now: set[str] = set()
    back: set[tuple[str, str]] = set()
    for root in ids:
        stack = [(root, iter(after[root]))] if root not in done else []
        open_now.update([root] if stack else [])
        while stack:
            id, following = stack[-1]
            step = next(following, None)
            if step is None:
                stack.pop()
                open_now.discard(id)
                done.add(id)
            elif step in open_now:
                back.add((id, step))
            elif step not in done:
                open_now.add(step)
                stack.append((step, iter(after[step])))
    return [
        (edge.target, edge.source)
        if (edge.source, edge.target) in back
        else (edge.source, edge.target)
        for edge in edges
    ]


def _layers(ids: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    before: dict[str, int] = dict.fromkeys(ids, 0)
    after: dict[str, list[str]] = {id: [] for id in ids}
    for source, target in pairs:
        if source != target:
            before[target] += 1
            after[source].append(target)
    layer = dict.fromkeys(ids, 0)
    ready = [id for id in ids if not before[id]]
    for id in ready:  # which grows
        for target in after[id]:
            layer[target] = max(layer[target], layer[id] + 1)
            before[target] -= 1
            if not before[target]:
                ready.append(target)
    return layer


def _with_bends(
    ids: Sequence[str], layer: Mapping[str, int], pairs: Sequence[tuple[str, str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """The layers with a bend for each line that crosses one, and each line as a chain."""
    layers: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for id in ids:
        layers[layer[id]].append(id)
    chains = []
    for number, (source, target) in enumerate(pairs):
        between = range(layer[source] + 1, layer[target])
        bends = [f"\0{number}.{each}" for each in between]
        for each, bend in zip(between, bends, strict=True):
            layers[each].append(bend)
        chains.append([source, *bends, target])
    return layers, chains


def _sort(layers: list[list[str]], links: Sequence[tuple[str, str]]) -> None:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for source, target in links:
        after.setdefault(source, []).append(target)
        before.setdefault(target, []).append(source)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        order = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for column in order:
            beside = {id: at for at, id in enumerate(layers[column - 1 if down else column + 1])}
            near = before if down else after
            places = {id: at for at, id in enumerate(layers[column])}

            def middle(
                id: str,
                near: Mapping[str, list[str]] = near,
                beside: Mapping[str, int] = beside,
                places: Mapping[str, int] = places,
            ) -> float:
                found = [beside[each] for each in near.get(id, ()) if each in beside]
                return sum(found) / len(found) if found else float(places[id])

            layers[column].sort(key=middle)


def _heights(
    layers: Sequence[Sequence[str]], links: Sequence[tuple[str, str]], boxes: set[str]
) -> dict[str, float]:
    near: dict[str, list[str]] = {}
    for source, target in links:
        near.setdefault(source, []).append(target)
        near.setdefault(target, []).append(source)
    ys: dict[str, float] = {}
    for layer in layers:
        y = 0.0
        for id in layer:
            size = HEIGHT if id in boxes else BEND_HEIGHT
            ys[id] = y + size / 2
            y += size + GAP_Y
    for _ in range(SWEEPS):
        for layer in layers:
            wanted = [
                sum(ys[each] for each in near[id]) / len(near[id]) if id in near else ys[id]
                for id in layer
            ]
            _settle(layer, wanted, ys, boxes)
    top = min((ys[id] for id in boxes), default=0.0) - HEIGHT / 2
    return {id: y - top + MARGIN for id, y in ys.items()}


def _settle(
    layer: Sequence[str], wanted: Sequence[float], ys: dict[str, float], boxes: set[str]
) -> None:
    """Move each towards where it wants to be, in their order and with room between them: those
    that push each other stand as a block around the middle of what they want."""
    blocks: list[tuple[list[str], float, float]] = []  # ids, the middle wanted, the height
    for id, want in zip(layer, wanted, strict=True):
        size = HEIGHT if id in boxes else BEND_HEIGHT
        block: tuple[list[str], float, float] = ([id], want, size)
        while blocks and blocks[-1][1] + blocks[-1][2] / 2 + GAP_Y > block[1] - block[2] / 2:
            ids, middle, height = blocks.pop()
            count, more = len(ids), len(block[0])
            joined = (middle * count + block[1] * more) / (count + more)
            block = ([*ids, *block[0]], joined, height + GAP_Y + block[2])
        blocks.append(block)
    for ids, middle, height in blocks:
        y = middle - height / 2
        for id in ids:
            size = HEIGHT if id in boxes else BEND_HEIGHT
            ys[id] = y + size / 2
            y += size + GAP_Y


def _way(
    chain: Sequence[str], xs: Mapping[str, float], ys: Mapping[str, float], is_back: bool
) -> tuple[Point, ...]:
    first, *bends, last = chain
    points = [
        Point(xs[first] + WIDTH, ys[first]),
        *(Point(xs[bend] + WIDTH / 2, ys[bend]) for bend in bends),
        Point(xs[last], ys[last]),
    ]
    return tuple(reversed(points)) if is_back else tuple(points)
