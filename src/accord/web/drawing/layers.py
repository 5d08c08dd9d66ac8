"""In which layer each box stands, and which places lines have in the layers that they cross. Pure.

Boxes and places are numbers here, boxes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

Pair: TypeAlias = tuple[int, int]


class Layered(Struct):
    """Layers from left to right, each from top to bottom."""

    boxes: int
    """How many there are: a spot with a smaller number is a box, all others are places of lines."""
    layers: list[list[int]]
    chains: list[list[int]]
    """Each line from its source to its target, with its places between them."""
    is_back: list[bool]
    """Whether a line leads back, to a box that is no further to the right."""

    def links(self) -> list[Pair]:
        """What is joined between two layers that stand side by side, the left one first."""
        found = []
        for chain, is_back in zip(self.chains, self.is_back, strict=True):
            inner = chain[1:-1][::-1] if is_back else chain
            found += list(pairwise(inner))
        return found

    def joined(self) -> tuple[list[list[int]], list[list[int]]]:
        """What each spot is joined with in the layer to its left, and in the one to its right."""
        spots = sum(map(len, self.layers))
        before: list[list[int]] = [[] for _ in range(spots)]
        after: list[list[int]] = [[] for _ in range(spots)]
        for left, right in self.links():
            after[left].append(right)
            before[right].append(left)
        return before, after

    def ends(self) -> dict[int, int]:
        """The first and the last place of each line that leads back, with the box beside it."""
        return {
            place: box
            for chain, is_back in zip(self.chains, self.is_back, strict=True)
            if is_back
            for place, box in ((chain[1], chain[0]), (chain[-2], chain[-1]))
        }


def in_layers(boxes: int, pairs: Sequence[Pair]) -> Layered:
    """Put so many boxes into layers, with lines between them."""
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
    return Layered(boxes, layers, chains, back)


def _leading_back(boxes: int, pairs: Sequence[Pair]) -> list[bool]:
    """Which lines close a circle, found by going along them from the first box on."""
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
