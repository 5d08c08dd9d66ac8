"""What was sent on streams, so that it can be sent again to a client that lost its connection.

Kept in memory and bounded: the oldest is forgotten first. A client whose events are forgotten
cannot resume its stream. Another store can keep them for several processes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from accord.jsonrpc.messages import Id

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_EVENTS: Final = 50_000
MAX_PER_SESSION: Final = 256


class Event(Struct, frozen=True, gc=False):
    """A message that was sent, and its number on its stream."""

    number: int
    data: bytes


Relay: TypeAlias = Callable[[Sequence[Event], bool], None]
"""Takes the next events of a stream, and whether they are the last."""


class Elsewhere(Struct, frozen=True):
    """A stream that goes on in another process."""

    events: Sequence[Event]
    """What the client has missed."""
    follow: Callable[[Relay], Callable[[], None]]
    """Has a function called with all that comes after them; call what it gives to stop."""


class Orphaned(Struct, frozen=True):
    """A stream of announcements whose process is gone: others announce from now on."""

    events: Sequence[Event]


Found: TypeAlias = Sequence[Event] | Elsewhere | Orphaned | None


class EventStore(Protocol):
    """Keeps the events of streams. Streams are numbered within their session."""

    def opened(self, session: str, stream: int, requests: Sequence[Id]) -> Awaitable[None] | None:
        """A stream begins, on which these requests are answered; none for announcements. Nothing
        is sent on it before this is done."""

    def closed(self, session: str, stream: int) -> None:
        """Everything was said on a stream."""

    def append(self, session: str, stream: int, event: Event) -> None:
        """Keep an event. Never blocks."""

    def after(self, session: str, stream: int, number: int) -> Found | Awaitable[Found]:
        """The events of a stream that came after `number`; None if they are not all known."""

    def forget(self, session: str) -> None:
        """The session is over."""


class MemoryEvents:
    """Keeps events in this process: of each session the last ones, within a limit for all."""

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
        self._sessions: OrderedDict[str, _Kept] = OrderedDict()
        self.size = 0
        """How many bytes are kept."""
        self.count = 0
        """How many events are kept."""

    def opened(self, session: str, stream: int, requests: Sequence[Id]) -> None:
        """Nothing is known of a stream but its events."""

    def closed(self, session: str, stream: int) -> None:
        """They stay, for a client that lost the last of them."""

    def append(self, session: str, stream: int, event: Event) -> None:
        kept = self._sessions.get(session)
        if kept is None:
            kept = self._sessions[session] = _Kept()
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

    def _drop_one(self, kept: _Kept) -> None:
        self.size -= kept.drop()
        self.count -= 1


class _Kept:
    """The events of one session, oldest first."""

    __slots__ = ("events", "streams")

    def __init__(self) -> None:
        self.events: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self.streams: dict[int, int] = {}
        """The number of the last event of each stream."""

    def drop(self) -> int:
        """Forget the oldest event; how many bytes that frees."""
        (stream, number), data = self.events.popitem(last=False)
        if self.streams[stream] == number:
            del self.streams[stream]
        return len(data)
