"""How many values were at most each bound, as Prometheus adds them up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from accord.telemetry.exposition import Exposition, Labels


class Histogram:
    """Values of one kind. `counts` has one more than `bounds`, for all above."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def include(self, other: Histogram) -> None:
        """Add what another one of the same bounds has counted."""
        self.counts = [
            mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)
        ]
        self.sum += other.sum

    def write(self, out: Exposition, name: str, labels: Labels) -> None:
        out.histogram(name, labels, self.bounds, self.counts, self.sum)
