"""What a store did and what waits for it, in plain numbers: whoever shows them asks."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class StoreCounts(Struct):
    """What was written since the store was opened. Each store has one writer, which counts."""

    transactions: int = 0
    """Those that were run, whatever came of them."""
    waited: float = 0.0
    """Seconds that they waited for their turn, together."""
    commits: int = 0
    """One may be for many transactions."""
    failed_commits: int = 0
    conflicts: int = 0
    """Transactions that were run again because others were in their way."""

    def begun(self, asked: Iterable[float], now: float) -> None:
        """Transactions begin that were asked for at these times."""
        for each in asked:
            self.transactions += 1
            self.waited += now - each


class Load(Struct, frozen=True):
    """How busy a store is right now."""

    waiting: int
    """Transactions that wait for their turn."""
    busy: int = 0
    """Connections of the pool that somebody uses; a file has no pool."""
    idle: int = 0
    most: int = 0
    """How many connections the pool may have."""
