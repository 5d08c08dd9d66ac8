"""Graphs to draw, and their layered layout with few crossing lines.

The functions do no I/O. A graph has boxes, and lines that join boxes. Boxes are arranged in layers
from left to right. A spot is a place in a layer, for a box or for a line that passes through.

1. Lines that close a cycle are reversed, so that all lines lead to the right.
2. A box is placed one layer after the last of its predecessors; a box without predecessors is
   placed right before its first successor.
3. A line across several layers has a spot of its own in each of these layers; a line that leads
   back has its spots below the boxes.
4. Sweeps to the right and to the left sort the spots of each layer by the middle of the spots
   joined with them in the layer before, and swap neighbouring spots if fewer lines cross then. The
   best order is used. Large graphs get fewer sweeps, so that drawing stays quick.
5. Each box moves to the middle of the spots joined with the box, as far as its layer leaves room.
6. Between two layers there is room for the labels of lines.

In the layout, boxes and spots are numbers; the numbers of boxes come first.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias
from unicodedata import east_asian_width

from msgspec import Struct

from accord.web.formatting import Tone

Line: TypeAlias = Literal["solid", "dashed"]


class GraphNode(Struct, frozen=True, kw_only=True):
    """A box of a graph."""

    id: str
    title: str
    subtitle: str = ""
    """The line below the title: the agent of a step, or the kind of an item."""
    note: str = ""
    """The text at the right of the box: a state, a time."""
    tone: Tone = "idle"
    href: str = ""
    is_marked: bool = False
    """True if the box is highlighted, such as that of the selected item."""


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
    """Estimate the width of a text at a font size, rather too large than too small."""
    return sum(map(_letter_width, text)) * size


def shortened(text: str, most: float, size: float) -> str:
    """Shorten a text to the width `most`, with an ellipsis."""
    text = text[: int(most / (size * 0.3)) + 1]  # letters beyond the width are not measured
    if text_width(text, size) <= most:
        return text
    width = _letter_width("…")
    for at, letter in enumerate(text):
        width += _letter_width(letter)
        if width * size > most:
            return f"{text[:at].rstrip()}…"
    return text


def wrapped(text: str, most: float, size: float) -> list[str]:
    """Break a text into at most two lines of the width `most`, at a space if possible."""
    if text_width(text, size) <= most:
        return [text]
    first = shortened(text, most, size).removesuffix("…")
    if not text[len(first) :].startswith(" "):
        whole, space, _ = first.rpartition(" ")
        first = whole if space else first
    return [first, shortened(text[len(first) :].lstrip(), most, size)]


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 0.4
    if letter in _WIDE or letter.isupper():
        return 0.8
    return 1.05 if east_asian_width(letter) in "WF" else 0.62


Pair: TypeAlias = tuple[int, int]


class LayeredGraph(Struct):
    """The boxes and lines of a graph, assigned to layers.

    The layers are ordered from left to right, and the spots of each layer from top to bottom.
    """

    boxes: int
    """The number of boxes. Spots below this number are boxes, all other spots are on lines."""
    layers: list[list[int]]
    chains: list[list[int]]
    """The spots of each line, from its source to its target."""
    is_back: list[bool]
    """For each line, true if it leads back: to a box that is not further to the right."""

    def links(self) -> list[Pair]:
        """Return all pairs of spots in neighbouring layers that a line joins.

        The left spot is the first of a pair.
        """
        found = []
        for chain, is_back in zip(self.chains, self.is_back, strict=True):
            inner = chain[1:-1][::-1] if is_back else chain
            found += list(pairwise(inner))
        return found

    def joined(self) -> tuple[list[list[int]], list[list[int]]]:
        """Return for each spot the joined spots in the layer to its left, and to its right."""
        spots = sum(map(len, self.layers))
        before: list[list[int]] = [[] for _ in range(spots)]
        after: list[list[int]] = [[] for _ in range(spots)]
        for left, right in self.links():
            after[left].append(right)
            before[right].append(left)
        return before, after

    def ends(self) -> dict[int, int]:
        """Return the end spots of all lines that lead back, each with its box.

        The end spots of such a line are its first and its last spot below the boxes: one is below
        the source, one below the target.
        """
        return {
            place: box
            for chain, is_back in zip(self.chains, self.is_back, strict=True)
            if is_back
            for place, box in ((chain[1], chain[0]), (chain[-2], chain[-1]))
        }


def in_layers(boxes: int, pairs: Sequence[Pair]) -> LayeredGraph:
    """Assign boxes to layers, and lines to spots in the layers that they cross."""
    back = _leading_back(boxes, pairs)
    forward = [
        (target, source) if is_back else (source, target)
        for (source, target), is_back in zip(pairs, back, strict=True)
    ]
    layer = _layers(boxes, forward)
    layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for box in range(boxes):
        layers[layer[box]].append(box)
    chains = []
    spots = boxes
    for (source, target), is_back in zip(pairs, back, strict=True):
        if is_back:
            columns = range(layer[source], layer[target] - 1, -1)
        else:
            columns = range(layer[source] + 1, layer[target])
        places = list(range(spots, spots + len(columns)))
        spots += len(columns)
        for column, spot in zip(columns, places, strict=True):
            layers[column].append(spot)
        chains.append([source, *places, target])
    return LayeredGraph(boxes, layers, chains, back)


def _leading_back(boxes: int, pairs: Sequence[Pair]) -> list[bool]:
    """Return for each line whether it closes a cycle.

    The cycles are found by a depth-first walk, from the first box without predecessors.
    """
    after: list[list[int]] = [[] for _ in range(boxes)]
    for source, target in pairs:
        after[source].append(target)
    done: set[int] = set()
    under_way: set[int] = set()
    back: set[Pair] = set()
    for root in _roots_first(boxes, pairs):
        stack = [(root, iter(after[root]))] if root not in done else []
        under_way.update([root] if stack else [])
        while stack:
            box, following = stack[-1]
            step = next(following, None)
            if step is None:
                stack.pop()
                under_way.discard(box)
                done.add(box)
            elif step in under_way:
                back.add((box, step))
            elif step not in done:
                under_way.add(step)
                stack.append((step, iter(after[step])))
    return [pair in back for pair in pairs]


def _roots_first(boxes: int, pairs: Sequence[Pair]) -> list[int]:
    led_to = {target for source, target in pairs if source != target}
    return sorted(range(boxes), key=lambda box: (box in led_to, box))


def _layers(boxes: int, pairs: Sequence[Pair]) -> list[int]:
    before = [0] * boxes
    after: list[list[int]] = [[] for _ in range(boxes)]
    for source, target in pairs:
        if source != target:
            before[target] += 1
            after[source].append(target)
    layer = [0] * boxes
    ready = [box for box in range(boxes) if not before[box]]
    roots = tuple(ready)
    for box in ready:  # which grows
        for target in after[box]:
            layer[target] = max(layer[target], layer[box] + 1)
            before[target] -= 1
            if not before[target]:
                ready.append(target)
    for root in roots:
        if after[root]:
            layer[root] = min(layer[target] for target in after[root]) - 1
    return layer


ORDERING_SWEEPS: Final = 12
LARGE_GRAPH_SPOTS: Final = 400
"""Graphs with at least this many spots get fewer sweeps."""
LARGE_GRAPH_SWEEPS: Final = 4


def order_layers(layered: LayeredGraph) -> None:
    """Sort the spots of each layer so that few lines cross."""
    _below_their_boxes(layered)
    before, after = layered.joined()
    spots = len(before)
    best = [list(layer) for layer in layered.layers]
    fewest = _crossings(best, after)
    now = [list(layer) for layer in best]
    for sweep in range(ORDERING_SWEEPS if spots < LARGE_GRAPH_SPOTS else LARGE_GRAPH_SWEEPS):
        if not fewest:
            break
        if sweep % 2 == 0:
            for column in range(1, len(now)):
                _sort(now[column], now[column - 1], before)
        else:
            for column in range(len(now) - 2, -1, -1):
                _sort(now[column], now[column + 1], after)
        if spots < LARGE_GRAPH_SPOTS:
            _swap(now, before, after)
        count = _crossings(now, after)
        if count < fewest:
            best, fewest = [list(layer) for layer in now], count
    layered.layers[:] = best


def _below_their_boxes(layered: LayeredGraph) -> None:
    """Place the first and last spot of each line that leads back right below their boxes."""
    for spot, box in layered.ends().items():
        layer = next(each for each in layered.layers if spot in each)
        layer.remove(spot)
        layer.insert(layer.index(box) + 1, spot)


def _sort(layer: list[int], beside: Sequence[int], near: Sequence[Sequence[int]]) -> None:
    place = {spot: at for at, spot in enumerate(beside)}
    middle: dict[int, float] = {}
    for at, spot in enumerate(layer):
        found = [place[each] for each in near[spot]]
        middle[spot] = sum(found) / len(found) if found else float(at)
    layer.sort(key=middle.__getitem__)


def _swap(
    layers: list[list[int]], before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]
) -> None:
    """Swap neighbouring spots of a layer where that reduces the crossings of lines."""
    places = [{spot: at for at, spot in enumerate(layer)} for layer in layers]
    for column, layer in enumerate(layers):
        for at in range(len(layer) - 1):
            upper, lower = layer[at], layer[at + 1]
            gain = 0
            for near, beside in ((before, column - 1), (after, column + 1)):
                if 0 <= beside < len(layers):
                    ups = sorted(places[beside][each] for each in near[upper])
                    downs = sorted(places[beside][each] for each in near[lower])
                    gain += _inverted(ups, downs) - _inverted(downs, ups)
            if gain > 0:
                layer[at], layer[at + 1] = lower, upper
                places[column][upper], places[column][lower] = at + 1, at


def _inverted(ups: Sequence[int], downs: Sequence[int]) -> int:
    """Count the crossings between the lines of two spots, an upper and a lower one.

    `ups` are the sorted positions in the next layer where the lines of the upper spot end, and
    `downs` those of the lower spot.
    """
    return sum(len(ups) - bisect_right(ups, each) for each in downs)


def _crossings(layers: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> int:
    total = 0
    for column in range(len(layers) - 1):
        place = {spot: at for at, spot in enumerate(layers[column + 1])}
        seen: list[int] = []
        for spot in layers[column]:
            ends = [place[each] for each in after[spot]]
            for end in ends:
                total += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return total


WIDTH: Final = 200.0
HEIGHT: Final = 68.0
GAP_X: Final = 52.0
MAX_GAP_X: Final = 180.0
GAP_Y: Final = 30.0
LINE_HEIGHT: Final = 12.0
"""The height of the spot of a line in a layer that the line crosses."""
MARGIN: Final = 14.0
TURN: Final = 24.0
"""The horizontal extent of the curve in which a line that leads back turns."""
LABEL_SIZE: Final = 11.0
LABEL_HEIGHT: Final = 14.0
PLACEMENT_SWEEPS: Final = 8
BOX_WEIGHT: Final = 8.0
"""The weight of a box in the placement of spots; the spot of a line has the weight 1."""


class Point(Struct, frozen=True):
    x: float
    y: float


class GraphLayout(Struct, frozen=True):
    """A graph with the coordinates of its boxes, lines and labels."""

    boxes: Mapping[str, Point]
    """The middle of the left edge of each box, by the id of its node."""
    ways: Sequence[tuple[Edge, tuple[Point, ...]]]
    """Each line with its points; the line is horizontal at every point."""
    labels: Sequence[Point | None]
    """The position of each line's label, the middle of the baseline; None for a line without a
    label."""
    width: float
    height: float


def place(graph: Graph) -> GraphLayout:
    """Compute the layout of a graph. Lines to missing boxes are left out."""
    names = [node.id for node in graph.nodes]
    number = {name: at for at, name in enumerate(names)}
    edges = [each for each in graph.edges if each.source in number and each.target in number]
    layered = in_layers(len(names), [(number[each.source], number[each.target]) for each in edges])
    order_layers(layered)
    ys = _heights(layered)
    lefts = _columns(layered, edges)
    xs = {spot: lefts[at] for at, layer in enumerate(layered.layers) for spot in layer}
    ways = [
        (edge, _line_points(chain, is_back, xs, ys))
        for edge, chain, is_back in zip(edges, layered.chains, layered.is_back, strict=True)
    ]
    right = lefts[-1] + WIDTH if lefts else 0.0
    right += TURN if _turns_at(layered, len(lefts) - 1) else 0.0
    return GraphLayout(
        {name: Point(xs[at], ys[at]) for at, name in enumerate(names)},
        ways,
        _labels(ways),
        right + MARGIN,
        max((y + _size(layered, spot) / 2 for spot, y in ys.items()), default=0.0) + MARGIN,
    )


def _size(layered: LayeredGraph, spot: int) -> float:
    return HEIGHT if spot < layered.boxes else LINE_HEIGHT


def _turns_at(layered: LayeredGraph, column: int) -> bool:
    """Return true if a line that leads back turns beside the layer `column`."""
    ends = (end for chain, back in zip(layered.chains, layered.is_back, strict=True) if back
            for end in (chain[0], chain[-1]))  # fmt: skip
    spots = set(layered.layers[column]) if 0 <= column < len(layered.layers) else set()
    return any(end in spots for end in ends)


def _columns(layered: LayeredGraph, edges: Sequence[Edge]) -> list[float]:
    """Return the x of each layer. The gap before a layer has room for the labels of lines."""
    column = {spot: at for at, layer in enumerate(layered.layers) for spot in layer}
    gaps = [GAP_X] * len(layered.layers)
    for edge, chain, is_back in zip(edges, layered.chains, layered.is_back, strict=True):
        if edge.label and not is_back:
            at = column[chain[0]]
            label_width = text_width(edge.label, LABEL_SIZE) + 28
            gaps[at] = min(max(gaps[at], label_width), MAX_GAP_X)
    lefts = []
    x = MARGIN + (TURN if _turns_at(layered, 0) else 0.0)
    for gap in gaps:
        lefts.append(x)
        x += WIDTH + gap
    return lefts


def _heights(layered: LayeredGraph) -> dict[int, float]:
    """Return the y of the middle of each spot.

    Sweeps to the right and to the left move each spot to the middle of its neighbours on one side,
    then of all its neighbours; the last two sweeps straighten lines without branches.
    """
    left, right = layered.joined()
    ends = layered.ends()
    ys: dict[int, float] = {}
    for layer in layered.layers:
        _settle(layered, layer, [0.0] * len(layer), ys)
    for sweep in range(
        PLACEMENT_SWEEPS if len(ys) < LARGE_GRAPH_SPOTS else LARGE_GRAPH_SWEEPS // 2
    ):
        to_right = sweep % 2 == 0
        near = left if to_right else right
        for layer in layered.layers if to_right else layered.layers[::-1]:
            _settle(layered, layer, [_desired_y(spot, near, ends, ys) for spot in layer], ys)
    both = [[*one, *other] for one, other in zip(left, right, strict=True)]
    for layer in layered.layers:
        _settle(layered, layer, [_desired_y(spot, both, ends, ys) for spot in layer], ys)
    for one, other, layers in (
        (left, right, layered.layers),
        (right, left, layered.layers[::-1]),
    ):
        for layer in layers:
            _settle(layered, layer, [_straight(spot, one, other, ends, ys) for spot in layer], ys)
    top = min((y - _size(layered, spot) / 2 for spot, y in ys.items()), default=0.0)
    return {spot: round(y - top + MARGIN, 1) for spot, y in ys.items()}


def _desired_y(
    spot: int, near: Sequence[Sequence[int]], ends: Mapping[int, int], ys: Mapping[int, float]
) -> float:
    """Return the y that a spot would have if no other spot were in its way.

    The spots at the ends of a line that leads back are below their boxes.
    """
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
    """Return the y of a spot's only neighbour: the line to it is then straight.

    If the spot has several neighbours in `near`, or the neighbour has others in `back`, return the
    current y of the spot. A spot at the end of a line that leads back stays below its box.
    """
    if spot in ends:
        return _desired_y(spot, near, ends, ys)
    found = near[spot]
    alone = len(found) == 1 and len(back[found[0]]) == 1
    return ys[found[0]] if alone else ys[spot]


def _settle(
    layered: LayeredGraph, layer: Sequence[int], desired: Sequence[float], ys: dict[int, float]
) -> None:
    """Move each spot of a layer close to its desired y, in order and with room between them.

    Spots that push each other form a block at the weighted mean of their desired positions; boxes
    weigh more than lines. Four lists describe the blocks. `wishes` has the weighted sum of the y
    that a block should begin at, according to each of its spots; the other lists have the sum of
    the weights, the height, and the number of spots. They are plain lists, because large graphs
    have thousands of blocks.
    """
    boxes = layered.boxes
    wishes: list[float] = []
    weights: list[float] = []
    heights: list[float] = []
    counts: list[int] = []
    for spot, want in zip(layer, desired, strict=True):
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


def _line_points(
    chain: Sequence[int],
    is_back: bool,
    xs: Mapping[int, float],
    ys: Mapping[int, float],
) -> tuple[Point, ...]:
    """Return the points of a line, which is horizontal within every layer it crosses."""
    first, *between, last = chain
    points = [Point(xs[first] + WIDTH, ys[first])]
    for spot in between:
        sides = (xs[spot], xs[spot] + WIDTH)
        points += [Point(x, ys[spot]) for x in (reversed(sides) if is_back else sides)]
    return (*points, Point(xs[last], ys[last]))


def _labels(ways: Sequence[tuple[Edge, tuple[Point, ...]]]) -> list[Point | None]:
    """Return the position of each line's label.

    It is in the gap after the line's source, or on the horizontal part of a line that leads back;
    further down if another label is in the way.
    """
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
