"""A stream of events that outlives its connections (2025-11-25, transports, resumability).

Events are numbered from 1; number 0 is the priming event, which says nothing. An event's id is
the number of its stream within the session and its own number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from accord.jsonrpc.sse import KEEP_ALIVE, encode_event, encode_priming
from accord.mcp.protocol.versions import V2025_11_25
from accord.mcp.server.http.events import Event
from accord.transports.web.app import Stream

if TYPE_CHECKING:
    from accord.mcp.server.http.http_session import HttpSession

_ID: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")


def event_id(stream: int, number: int) -> str:
    return f"{stream}-{number}"


def parse_event_id(text: str) -> tuple[int, int] | None:
    """Return the stream and the number of an event; None for a foreign id."""
    found = _ID.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


class EventStream:
    """One stream of a session, connected or not."""

    __slots__ = ("_connection", "_held", "_last", "_leaving", "_session", "number")

    def __init__(self, session: HttpSession, number: int) -> None:
        self._session = session
        self._last = 0
        self._connection: Stream | None = None
        self._held: list[tuple[Stream, bytes]] | None = None
        """Data that waits until the stream can be resumed; None afterwards."""
        self._leaving: list[Stream] = []
        """Connections that close after their held data is sent."""
        self.number = number

    @property
    def connected(self) -> bool:
        return self._connection is not None

    @property
    def is_over(self) -> bool:
        """True if the stream is complete."""
        return self._session.streams is None or self.number not in self._session.streams

    @property
    def _is_nobodys(self) -> bool:
        """True for announcements to a principal with an expired token."""
        owner, announces = self._session.owner, self._session.announcements is self
        return announces and owner is not None and owner.has_expired

    def is_at(self, number: int) -> bool:
        """Return whether `number` is the last event."""
        return number == self._last

    def connect(self, connection: Stream) -> None:
        """Send over this connection from now on, in place of any other."""
        self._attach(connection)
        if self._session.state.version >= V2025_11_25:
            # 2025-11-25, transports: at once an event with an id and no data, so that the
            # client can reconnect. Older clients do not expect data that is no message.
            self._write(connection, encode_priming(event_id(self.number, self._last)))

    def reconnect(self, connection: Stream, missed: Sequence[Event]) -> None:
        """Connect a returning client and send the events that it missed."""
        self._attach(connection)
        self.relay(missed, False)

    def relay(self, events: Sequence[Event], is_last: bool) -> None:
        """Send events of another process on this stream."""
        if self._connection is not None:
            for event in events:
                data = encode_event(event.data, id=event_id(self.number, event.number))
                self._write(self._connection, data)
            if is_last:
                self.disconnect()

    def _attach(self, connection: Stream) -> None:
        self.disconnect()
        self._connection = connection
        self._session.endpoint.pulse.add(self)

    def send(self, data: bytes) -> None:
        """Send a message, now or when the client has connected again."""
        session = self._session
        if session.over:
            return
        self._last += 1
        session.endpoint.events.append(session.id, self.number, Event(self._last, data))
        if self._connection is not None:
            event = encode_event(data, id=event_id(self.number, self._last))
            self._write(self._connection, event)

    def _write(self, connection: Stream, data: bytes) -> None:
        if self._held is None:
            connection.write(data)
        else:
            self._held.append((connection, data))

    def hold(self) -> None:
        """Hold data back until the stream is registered with the event store.

        A client that has received an event may resume its stream at any process.
        """
        self._held = []

    def let_go(self) -> None:
        """Send the held data: the stream is registered."""
        held, self._held = self._held or [], None
        for connection, data in held:
            connection.write(data)
        for connection in self._leaving:
            connection.close()
        self._leaving.clear()

    def release(self, retry_ms: int) -> None:
        """Close the connection, not the stream: the client is to come back for it."""
        if self._connection is not None:
            self._write(self._connection, b"retry: %d\n\n" % retry_ms)
            self.disconnect()

    def disconnect(self) -> None:
        """End the current connection."""
        connection, self._connection = self._connection, None
        self._session.endpoint.pulse.discard(self)
        if connection is not None and self._held is None:
            connection.close()
        elif connection is not None:
            self._leaving.append(connection)

    def lost(self, connection: Stream) -> None:
        """Forget a connection that was lost."""
        if self._connection is connection:
            self._connection = None
            self._session.endpoint.pulse.discard(self)

    def beat(self) -> None:
        if self._is_nobodys:
            self.disconnect()
        if self._connection is not None:
            self._connection.write(KEEP_ALIVE)
            self._session.touch()
