"""Limit the memory of incoming messages over all connections of a server. Pure.

A connection reserves memory while a message arrives and, over HTTP, until it is answered. When the
budget is exhausted, the message that needs more is refused and its reservation freed, so other
messages can complete.
"""

from __future__ import annotations

from typing import Final

from accord.jsonrpc.protocol.channel import KIB, ServerLimits

MAX_BUFFERED_BYTES: Final = ServerLimits().max_buffered_bytes
"""Default limit of a server."""
SMALL_BYTES: Final = 16 * KIB
"""Messages up to this size are neither counted nor refused for lack of budget: the number of
connections bounds them, as it bounds headers. So users can still sign in with a full budget."""
ANONYMOUS_FRACTION: Final = 4
"""Unauthenticated senders share one part in this many of a budget."""


class MemoryBudget:
    """A limit on the bytes that the connections of one server hold together; None for no limit.

    The only reserved message is never refused: otherwise a message within the limit for single
    messages could exceed the limit for all of them.
    """

    __slots__ = ("_parent", "held", "limit")

    def __init__(self, limit: int | None, *, parent: MemoryBudget | None = None) -> None:
        self.limit = limit
        self.held = 0
        """Number of bytes reserved."""
        self._parent = parent

    def part(self, fraction: int) -> MemoryBudget:
        """Return a smaller budget whose reservations count against this one too."""
        return MemoryBudget(None if self.limit is None else self.limit // fraction, parent=self)

    def _has_room(self, more: int, mine: int) -> bool:
        """Return whether `more` bytes fit, for a message that already holds `mine` bytes."""
        if self.limit is not None and self.held + more > self.limit and self.held > mine:
            return False
        return self._parent is None or self._parent._has_room(more, mine)

    def _add(self, more: int) -> None:
        self.held += more
        if self._parent is not None:
            self._parent._add(more)


class Reservation:
    """The share of a budget held by one message; released with its last reference at the latest."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.size = 0

    def __del__(self) -> None:
        self.release()

    def resize(self, size: int) -> bool:
        """Change the reservation to `size` bytes; if they do not fit, release it, return False."""
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
        """Free the reserved bytes."""
        if self.size:
            self._budget._add(-self.size)
            self.size = 0
