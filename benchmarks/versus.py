"""Rows that set what an operation costs us against what it costs others."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.harness import Costs
from benchmarks.report import Bound, Row


class Versus:
    """One kind of work in one group, done by several."""

    def __init__(self, group: str, what: str, costs: Costs) -> None:
        self._group = group
        self._what = what
        self._costs = costs

    def fastest(self, names: Iterable[str]) -> str:
        """Whoever of these does it at the least cost."""
        return min(names, key=self._costs.cost)

    def rows(
        self, ours: str, peers: Iterable[str], bounds: dict[str, Bound] | None = None
    ) -> list[Row]:
        """`ours` against each of the others, with what must be reached against some."""
        return [
            Row(
                group=self._group,
                what=f"{self._what}, {ours}",
                ours=self._costs.cost(ours) * 1e6,
                unit="µs",
                against=peer,
                theirs=self._costs.cost(peer) * 1e6,
                ratio=self._costs.ratio(peer, ours),
                bound=(bounds or {}).get(peer),
            )
            for peer in peers
        ]
