"""One bound for the memory that incoming messages take, over all connections of a server. Pure.

A connection reserves memory while a message arrives and, over HTTP, until it is answered. When
the budget is used up the message that wants more is refused and what it held is freed, so that
the others can finish.
"""

from __future__ import annotations

from typing import Final

from accord.jsonrpc.limits import KIB, ServerLimits

MAX_BUFFERED_BYTES: Final = ServerLimits().max_buffered_bytes
"""The limit of servers that are told of no other."""
SMALL_BYTES: Final = 16 * KIB
"""Messages up to this size are never refused for the budget, nor counted: the number of
connections bounds them, as it bounds headers. So a full budget keeps nobody from signing in."""
ANONYMOUS_FRACTION: Final = 4
"""Senders whom nobody knows yet may use this fraction of a budget: one of so many parts."""


class MemoryBudget:
    """Bytes that the connections of one server may hold together; None for any number.

    A message that is the only one held is never refused, or one within the limit of a single
    message could be over that of all.
    """

    __slots__ = ("_parent", "held", "limit")

    def __init__(self, limit: int | None, *, parent: MemoryBudget | None = None) -> None:
        self.limit = limit
        self.held = 0
        """Bytes that are reserved now."""
        self._parent = parent

    def part(self, fraction: int) -> MemoryBudget:
        """Return a smaller budget whose reservations count in this one too."""
        return MemoryBudget(None if self.limit is None else self.limit // fraction, parent=self)

    def _has_room(self, more: int, mine: int) -> bool:
        """Whether `more` bytes fit, for a message that holds `mine` already."""
        if self.limit is not None and self.held + more > self.limit and self.held > mine:
            return False
        return self._parent is None or self._parent._has_room(more, mine)

    def _add(self, more: int) -> None:
        self.held += more
        if self._parent is not None:
            self._parent._add(more)


class Reservation:
    """What one message holds of a budget. It is released with the last reference, at the latest."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.size = 0

    def __del__(self) -> None:
        self.release()

    def resize(self, size: int) -> bool:
        """Hold `size` bytes from now on; False, with nothing held, where they do not fit."""
        if size <= SMALL_BYTES:
            size = 0
        more = size - self.size
        if more > 0 and not self._budget._has_room(more, self.size):
            self.release()
            return False
        if more:
            self._budget._add(more)
            self.size = size
        return True

    def release(self) -> None:
        """Hold nothing any more."""
        if self.size:
            self._budget._add(-self.size)
            self.size = 0
