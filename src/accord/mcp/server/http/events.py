"""Events of streams, stored for clients that lost their connection.

In memory and bounded: the oldest events are dropped first. A client whose events were dropped
cannot resume its stream. Several processes use another store (`accord.mcp.server.cluster`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from accord.jsonrpc.protocol.messages import Id

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_EVENTS: Final = 50_000
MAX_PER_SESSION: Final = 256


class Event(Struct, frozen=True, gc=False):
    """A message that was sent, and its number on its stream."""

    number: int
    data: bytes


EventRelay: TypeAlias = Callable[[Sequence[Event], bool], None]
"""Receives the next events of a stream, and whether they are the last."""


class RemoteStream(Struct, frozen=True):
    """A stream that continues in another process."""

    events: Sequence[Event]
    """The events that the client has missed."""
    follow: Callable[[EventRelay], Callable[[], None]]
    """Subscribes a function to all later events; returns a function that unsubscribes it."""


class OrphanedStream(Struct, frozen=True):
    """A stream of announcements of a dead process; another one announces now."""

    events: Sequence[Event]


MissedEvents: TypeAlias = Sequence[Event] | RemoteStream | OrphanedStream | None


class EventStore(Protocol):
    """A store of the events of streams, which are numbered per session."""

    def opened(self, session: str, stream: int, requests: Sequence[Id]) -> Awaitable[None] | None:
        """Register a stream before anything is sent on it.

        `requests` are answered on the stream; a stream of announcements has none.
        """

    def closed(self, session: str, stream: int) -> None:
        """Mark a stream as complete."""

    def append(self, session: str, stream: int, event: Event) -> None:
        """Keep an event. Never blocks."""

    def after(
        self, session: str, stream: int, number: int
    ) -> MissedEvents | Awaitable[MissedEvents]:
        """Return the events of a stream after `number`; None if some are unknown."""

    def forget(self, session: str) -> None:
        """Drop all events of a session that has ended."""


class MemoryEvents:
    """The events of this process: the last ones per session, within a total limit."""

    def __init__(
        self,
        *,
        max_bytes: int = MAX_BYTES,
        max_events: int = MAX_EVENTS,
        max_per_session: int = MAX_PER_SESSION,
    ) -> None:
        self._max_bytes = max_bytes
        self._max_events = max_events
        self._max_per_session = max_per_session
        self._sessions: OrderedDict[str, _SessionEvents] = OrderedDict()
        self.size = 0
        """The number of bytes in memory."""
        self.count = 0
        """The number of events in memory."""

    def opened(self, session: str, stream: int, requests: Sequence[Id]) -> None:
        """Do nothing: only events are kept."""

    def closed(self, session: str, stream: int) -> None:
        """Do nothing: events remain for a client that lost the last of them."""

    def append(self, session: str, stream: int, event: Event) -> None:
        kept = self._sessions.get(session)
        if kept is None:
            kept = self._sessions[session] = _SessionEvents()
        else:
            self._sessions.move_to_end(session)
        kept.events[stream, event.number] = event.data
        kept.streams[stream] = event.number
        self.size += len(event.data)
        self.count += 1
        if len(kept.events) > self._max_per_session:
            self._drop_one(kept)
        while self.size > self._max_bytes or self.count > self._max_events:
            self._drop_oldest()

    def after(self, session: str, stream: int, number: int) -> list[Event] | None:
        kept = self._sessions.get(session)
        if kept is None or number > kept.streams.get(stream, -1):
            return None
        found = []
        for each in range(number + 1, kept.streams[stream] + 1):
            data = kept.events.get((stream, each))
            if data is None:
                return None
            found.append(Event(each, data))
        return found

    def forget(self, session: str) -> None:
        kept = self._sessions.pop(session, None)
        if kept is not None:
            self.size -= sum(map(len, kept.events.values()))
            self.count -= len(kept.events)

    def _drop_oldest(self) -> None:
        session, kept = next(iter(self._sessions.items()))
        self._drop_one(kept)
        if not kept.events:
            del self._sessions[session]

    def _drop_one(self, kept: _SessionEvents) -> None:
        self.size -= kept.drop()
        self.count -= 1


class _SessionEvents:
    """The events of one session, oldest first."""

    __slots__ = ("events", "streams")

    def __init__(self) -> None:
        self.events: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self.streams: dict[int, int] = {}
        """The last event's number of each stream."""

    def drop(self) -> int:
        """Drop the oldest event and return its size in bytes."""
        (stream, number), data = self.events.popitem(last=False)
        if self.streams[stream] == number:
            del self.streams[stream]
        return len(data)
