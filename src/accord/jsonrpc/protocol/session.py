"""The state of one connection: pending calls, request ids, connection state, statistics.

The time and random bytes come in as arguments. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from msgspec import Struct

from accord.jsonrpc.protocol.channel import MOVES, Limits, State
from accord.jsonrpc.protocol.errors import IdsExhaustedError, own_error
from accord.jsonrpc.protocol.messages import Id, Notification, Request, encode, id_key

LAST_ID: Final = 2**60 - 1
"""The last id of a counter: within the range of integers that every 64-bit peer supports."""

IdKind = Literal["counter", "uuid"]


class Counter:
    """A source of request ids: 1, 2, 3 … up to `last`.

    Raises `IdsExhaustedError` after the last one.
    """

    __slots__ = ("_last", "_next")

    def __init__(self, *, first: int = 1, last: int = LAST_ID) -> None:
        self._next = first
        self._last = last

    def __call__(self) -> int:
        id = self._next
        if id > self._last:
            raise IdsExhaustedError(
                f"this connection has used all request ids up to {self._last:,}; reconnect to go on"
            )
        self._next = id + 1
        return id


class Uuids:
    """A source of request ids that are random UUIDs, made from `random_bytes(16)`."""

    __slots__ = ("_random_bytes",)

    def __init__(self, random_bytes: Callable[[int], bytes]) -> None:
        self._random_bytes = random_bytes

    def __call__(self) -> str:
        return str(UUID(bytes=self._random_bytes(16), version=4))


REMEMBERED_CALLS: Final = 1_024
"""Number of abandoned calls whose ids are kept, to tell a late answer from an answer to an unknown
id."""


@dataclass(slots=True)
class Statistics:
    """Counters of one connection."""

    calls_sent: int = 0
    notifications_sent: int = 0
    answers_received: int = 0
    answers_late: int = 0
    answers_unknown: int = 0
    answers_broken: int = 0
    calls_timed_out: int = 0
    calls_abandoned: int = 0
    calls_lost: int = 0
    requests_received: int = 0
    notifications_received: int = 0
    null_ids_received: int = 0
    invalid_received: int = 0
    messages_refused: int = 0
    requests_refused: int = 0
    handlers_failed: int = 0
    handlers_timed_out: int = 0


class PendingCall(Struct):
    """An outgoing call that waits for its answer."""

    id: Id
    method: str
    token: Any
    timeout: float | None
    deadline: float | None
    latest: float | None
    """The latest time to which `extend` may move the deadline."""
    message: int
    """The number of the message that carries this call; the calls of a batch share a number."""
    resend: bytes | None
    """The encoded call, if it is safe to send again; else None."""


class Session:
    """The state of one connection: its outgoing calls, statistics, and connection state."""

    __slots__ = (
        "_given_up",
        "_messages",
        "_next_id",
        "limits",
        "pending",
        "state",
        "statistics",
    )

    def __init__(
        self,
        *,
        limits: Limits,
        next_id: Callable[[], Id] | None = None,
        state: State = State.CONNECTED,
    ) -> None:
        self.limits = limits
        self.statistics = Statistics()
        self.state = state
        self.pending: dict[Id, PendingCall] = {}
        self._next_id: Callable[[], Id] = Counter() if next_id is None else next_id
        self._messages = 0
        self._given_up: dict[Id, None] = {}

    def move(self, state: State) -> bool:
        """Change the connection to `state`, if `MOVES` permits it; return whether it did."""
        if state not in MOVES[self.state]:
            return False
        self.state = state
        return True

    # Outgoing

    def call(
        self,
        method: str,
        params: Any,
        token: Any,
        *,
        now: float,
        timeout: float | None,
        longest: float | None = None,
        idempotent: bool = False,
        message: int | None = None,
    ) -> tuple[PendingCall, bytes]:
        """Register a call, and return it with the encoded message, which is not sent here.

        If encoding raises an exception, nothing is registered. `timeout` and `longest` are in
        seconds from `now`: the call's timeout, which `extend` restarts, and the most that the call
        may take in spite of extensions. `message` is the number of the batch that carries the
        call. Raises `BusyError` if too many calls are pending.
        """
        if len(self.pending) >= self.limits.max_pending:
            raise own_error(
                "busy",
                f"{self.limits.max_pending:,} calls are waiting for answers, the limit",
                limit=self.limits.max_pending,
            )
        id = self._next_id()
        data = encode(Request(id, method, params))
        call = PendingCall(
            id,
            method,
            token,
            timeout,
            None if timeout is None else now + timeout,
            None if longest is None else now + longest,
            self.next_message() if message is None else message,
            data if idempotent else None,
        )
        self.pending[id] = call
        self.statistics.calls_sent += 1
        return call, data

    def next_message(self) -> int:
        self._messages += 1
        return self._messages

    def notification(self, method: str, params: Any) -> bytes:
        data = encode(Notification(method, params))
        self.statistics.notifications_sent += 1
        return data

    def extend(self, id: Id, *, now: float) -> float | None:
        """Restart the timeout of a pending call; return its new deadline.

        The deadline is never later than `latest` of the call. Returns None if the call is not
        pending or has no timeout.
        """
        call = self.pending.get(id)
        if call is None or call.timeout is None:
            return None
        deadline = now + call.timeout
        call.deadline = deadline if call.latest is None else min(deadline, call.latest)
        return call.deadline

    # What ends a pending call

    def only_message(self) -> list[Id]:
        """Return the ids of the pending calls that an error without an id must mean.

        These are all pending calls, if one message carried them all. Otherwise no ids are returned,
        nor if the error may mean something else: if this end has also sent notifications or
        answers, or has received an invalid message.
        """
        counts = self.statistics
        if counts.notifications_sent or counts.requests_received or counts.invalid_received:
            return []
        messages = {call.message for call in self.pending.values()}
        return list(self.pending) if len(messages) == 1 else []

    def settle(self, id: Id) -> PendingCall | None:
        """Remove and return the pending call with `id`, which was answered.

        Returns None if there is none.
        """
        # Our ids are int or str; 1.0 and True equal 1 as keys and must not match (F-02).
        call = self.pending.pop(id, None) if type(id) is int or type(id) is str else None
        if call is not None:
            self.statistics.answers_received += 1
        elif id_key(id) in self._given_up:
            del self._given_up[id]
            self.statistics.answers_late += 1
        else:
            self.statistics.answers_unknown += 1
        return call

    def abandon(self, id: Id) -> bool:
        """Remove a call that nobody waits for any more; return whether it was pending."""
        if self.pending.pop(id, None) is None:
            return False
        self._remember(id)
        self.statistics.calls_abandoned += 1
        return True

    def expire(self, now: float) -> list[PendingCall]:
        """Remove and return the calls whose deadline has passed."""
        due = [
            call
            for call in self.pending.values()
            if call.deadline is not None and call.deadline <= now
        ]
        for call in due:
            del self.pending[call.id]
            self._remember(call.id)
        self.statistics.calls_timed_out += len(due)
        return due

    def next_deadline(self) -> float | None:
        """Return the earliest deadline of a pending call, for `expire`; None if there is none."""
        return min(
            (call.deadline for call in self.pending.values() if call.deadline is not None),
            default=None,
        )

    def lose(self, *, keep_resendable: bool = False) -> list[PendingCall]:
        """Remove and return the calls that are still pending when a connection is lost.

        With `keep_resendable`, calls that can be sent again stay pending.
        """
        lost = [
            call for call in self.pending.values() if call.resend is None or not keep_resendable
        ]
        for call in lost:
            del self.pending[call.id]
        self.statistics.calls_lost += len(lost)
        return lost

    def resendable(self) -> Iterable[bytes]:
        """Return the encoded calls to send again on a new connection."""
        return [call.resend for call in self.pending.values() if call.resend is not None]

    def _remember(self, id: Id) -> None:
        self._given_up[id] = None
        if len(self._given_up) > REMEMBERED_CALLS:
            del self._given_up[next(iter(self._given_up))]
