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
    """The stream and the number of an event; None for what is no id of ours."""
    found = _ID.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


class EventStream:
    """One stream of a session, with or without a connection at the moment."""

    __slots__ = ("_connection", "_held", "_last", "_leaving", "_session", "number")

    def __init__(self, session: HttpSession, number: int) -> None:
        self._session = session
        self._last = 0
        self._connection: Stream | None = None
        self._held: list[tuple[Stream, bytes]] | None = None
        """What is to be sent when the stream can be resumed; None once it can."""
        self._leaving: list[Stream] = []
        """Connections that end with what is held for them."""
        self.number = number

    @property
    def connected(self) -> bool:
        return self._connection is not None

    @property
    def is_over(self) -> bool:
        """Whether everything was said on it."""
        return self._session.streams is None or self.number not in self._session.streams

    @property
    def _is_nobodys(self) -> bool:
        """Whether the token has ended of whoever listens, without a request to be answered."""
        owner, announces = self._session.owner, self._session.announcements is self
        return announces and owner is not None and owner.has_expired

    def is_at(self, number: int) -> bool:
        """Whether nothing came after the event with this number."""
        return number == self._last

    def connect(self, connection: Stream) -> None:
        """Send over this connection from here on, in place of any other."""
        self._attach(connection)
        if self._session.state.version >= V2025_11_25:
            # 2025-11-25, transports: at once an event with an id and no data, so that the
            # client can reconnect. Older clients do not expect data that is no message.
            self._write(connection, encode_priming(event_id(self.number, self._last)))

    def reconnect(self, connection: Stream, missed: Sequence[Event]) -> None:
        """The same for a client that comes back, and has missed these events."""
        self._attach(connection)
        self.relay(missed, False)

    def relay(self, events: Sequence[Event], is_last: bool) -> None:
        """Send what another process said on this stream."""
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
        """Send nothing before others know of this stream: whoever has an event of it may come
        back to them."""
        self._held = []

    def let_go(self) -> None:
        """Others know of it."""
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
        """End the present connection."""
        connection, self._connection = self._connection, None
        self._session.endpoint.pulse.discard(self)
        if connection is not None and self._held is None:
            connection.close()
        elif connection is not None:
            self._leaving.append(connection)

    def lost(self, connection: Stream) -> None:
        """The client of a connection is gone."""
        if self._connection is connection:
            self._connection = None
            self._session.endpoint.pulse.discard(self)

    def beat(self) -> None:
        if self._is_nobodys:
            self.disconnect()
        if self._connection is not None:
            self._connection.write(KEEP_ALIVE)
            self._session.touch()
