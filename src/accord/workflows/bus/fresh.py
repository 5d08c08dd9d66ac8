"""What this process put into the outbox a moment ago. A relay in the same process finds the row,
and need not read what is in it. Any of it may be forgotten: the row has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from accord.workflows.bus.outbox import Batch

MOST_ROWS: Final = 50
"""None of which has much more than a megabyte."""


class Fresh:
    """Batches by the id of their row; the oldest is forgotten first. Also those of transactions
    that were taken back: nobody will find their rows."""

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}

    def all(self) -> dict[int, Batch]:
        """Those of now: whoever asks for their rows has them when the answer comes."""
        return dict(self._batches)

    def add(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self._batches[batch.id] = batch
        while len(self._batches) > MOST_ROWS:
            del self._batches[next(iter(self._batches))]

    def forget(self, ids: Iterable[int]) -> None:
        """These rows were found."""
        for id in ids:
            self._batches.pop(id, None)
