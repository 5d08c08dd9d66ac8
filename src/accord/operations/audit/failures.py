"""Failed authentications: recorded in the audit trail and the log, at a bounded rate.

In each window of one minute, the first ten of a kind (operation, reason, way, person, address) are
recorded one by one, and at most a thousand of all kinds. Further ones are only counted; at the end
of the window one record and one log line per kind state the number. So a process writes at most
some 2,000 records and lines a minute under any flood, and the number of attempts is still recorded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.operations.audit.record import AuditSink, Record
from accord.operations.errors import UnavailableError
from accord.operations.identifiers import new_id, utc_now

log = logging.getLogger("accord.accounts")

WINDOW_SECONDS: Final = 60.0
MAX_OF_KIND: Final = 10
"""Records of one kind in one window."""
MAX_OF_ALL: Final = 1_000
"""Records of all kinds in one window."""
MAX_KINDS: Final = 1_000
"""Kinds counted separately in one window; further ones are counted by reason alone."""

_Kind = tuple[str, ...]
"""Operation, reason, and the identity, way and origin of an attempt, as far as they are known."""


class _Count(Struct):
    kept: int = 0
    suppressed: int = 0
    last: Record | None = None
    """The last record that was suppressed."""


class FailedAttempts:
    """Failed authentications of one process, on their way to the trail and the log."""

    def __init__(
        self,
        trail: AuditSink,
        *,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], str] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self._trail = trail
        self._window = window
        self._clock = clock
        self._now = now
        self._new_id = new_id
        self._counts: dict[_Kind, _Count] = {}
        self._kept = 0
        self._ends = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, record: Record) -> None:
        """Write a record, or count it if there are too many or the trail is full.

        Needs a running event loop.
        """
        if self._clock() >= self._ends:
            self.flush()
            self._ends = self._clock() + self._window
        kind: _Kind = (
            *(record.operation, record.error, record.face, record.actor_id, record.token_id),
            *(record.target, record.address),
        )
        if kind not in self._counts and len(self._counts) >= MAX_KINDS:
            kind = (record.operation, record.error)
            record = replace(
                record, address="", client="", actor="", actor_id="", token_id="", target=""
            )
        count = self._counts.setdefault(kind, _Count())
        if count.kept >= MAX_OF_KIND or self._kept >= MAX_OF_ALL or not self._put(record):
            self._suppress(count, record)
            return
        count.kept += 1
        self._kept += 1
        _log(record, f"{record.operation} failed: {record.error}")

    def flush(self) -> None:
        """End the window, and report the number of suppressed records."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        counts, self._counts = self._counts, {}
        self._kept, self._ends = 0, 0.0
        for count in counts.values():
            if count.last is not None:
                self._tell(count.last, count.suppressed)

    def _suppress(self, count: _Count, record: Record) -> None:
        count.suppressed += 1
        count.last = record
        if self._timer is None:
            left = max(self._ends - self._clock(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left, self.flush)

    def _tell(self, last: Record, suppressed: int) -> None:
        last = replace(last, client="")
        _log(last, f"{last.operation} failed {suppressed:,} more times: {last.error}")
        target = ", ".join(filter(None, (last.target, f"{suppressed} more")))
        told = replace(last, id=self._new_id(), time=self._now(), target=target)
        if not self._put(told):
            log.error("the audit trail has no place for %d failed attempts", suppressed)

    def _put(self, record: Record) -> bool:
        try:
            self._trail.enqueue(record)
        except UnavailableError:  # the queue of the trail is full
            return False
        return True


def _log(record: Record, message: str) -> None:
    log.warning(
        "%s",
        f"{message} ({record.target})" if record.target else message,
        extra={
            "operation": record.operation,
            "outcome": record.outcome,
            "user": record.actor,
            "face": record.face,
            "client": record.client,
            "address": record.address,
            "correlation_id": record.correlation_id,
        },
    )
