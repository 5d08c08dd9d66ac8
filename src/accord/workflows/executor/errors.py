"""What stops an executor from writing."""

from __future__ import annotations

from collections.abc import Set as AbstractSet


class UnreadableMessageError(Exception):
    """A message is nothing that a run gets, whatever release reads it."""


class FencedError(Exception):
    """Others have taken over some of the shards of a decision: nothing of it was written."""

    def __init__(self, shards: AbstractSet[int]) -> None:
        listed = ", ".join(map(str, sorted(shards)))
        super().__init__(f"another executor decides on shards {listed} now")
        self.shards = frozenset(shards)
