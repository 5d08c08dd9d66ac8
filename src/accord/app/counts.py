"""What the calls of operations amount to, for Prometheus.

Labels are names of operations, faces and outcomes, which callers cannot choose, so that what is
remembered is bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Final

from accord.operations.audit.record import Result
from accord.operations.caller import Caller
from accord.operations.operation import Operation
from accord.telemetry.metrics import Exposition

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class OperationCounts:
    """Counts calls, and how long they take."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, operation: Operation, caller: Caller, result: Result, seconds: float) -> None:
        self._calls[operation.name, caller.face, result] += 1
        buckets = self._buckets.setdefault(operation.name, [0] * (len(SECONDS) + 1))
        buckets[bisect_left(SECONDS, seconds)] += 1
        self._sums[operation.name] = self._sums.get(operation.name, 0.0) + seconds

    def write(self, page: Exposition) -> None:
        page.family(
            "accord_operations_total",
            "counter",
            "Calls of operations, by face and outcome.",
            (
                ((("operation", name), ("face", face), ("outcome", outcome)), count)
                for (name, face, outcome), count in sorted(self._calls.items())
            ),
        )
        page.family("accord_operation_seconds", "histogram", "How long operations take.")
        for name, buckets in sorted(self._buckets.items()):
            labels = (("operation", name),)
            page.histogram("accord_operation_seconds", labels, SECONDS, buckets, self._sums[name])
