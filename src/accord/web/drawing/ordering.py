"""In which order the spots of each layer stand, so that few lines cross. Pure.

Sweeps to the right and to the left sort each layer by the middle of what its spots are joined with
in the layer before; neighbours that cross less the other way round change places. The best order
that was seen is kept. Large graphs get fewer sweeps: a drawing is to be made in a moment.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Final

from accord.web.drawing.layers import Layered

SWEEPS: Final = 12
MANY: Final = 400
"""From so many spots on there are fewer sweeps."""
FEW_SWEEPS: Final = 4


def put_in_order(layered: Layered) -> None:
    """Sort the layers."""
    _below_their_boxes(layered)
    before, after = layered.joined()
    spots = len(before)
    best = [list(layer) for layer in layered.layers]
    fewest = _crossings(best, after)
    now = [list(layer) for layer in best]
    for sweep in range(SWEEPS if spots < MANY else FEW_SWEEPS):
        if not fewest:
            break
        if sweep % 2 == 0:
            for column in range(1, len(now)):
                _sort(now[column], now[column - 1], before)
        else:
            for column in range(len(now) - 2, -1, -1):
                _sort(now[column], now[column + 1], after)
        if spots < MANY:
            _swap(now, before, after)
        count = _crossings(now, after)
        if count < fewest:
            best, fewest = [list(layer) for layer in now], count
    layered.layers[:] = best


def _below_their_boxes(layered: Layered) -> None:
    """A line that leads back begins and ends right below its boxes."""
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
    """Let neighbours change places where fewer lines cross for it."""
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
    """How many lines cross where those of `ups` begin above those of `downs`."""
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
