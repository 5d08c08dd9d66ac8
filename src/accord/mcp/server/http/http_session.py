"""One session of the handshake era over HTTP, and its streams of events.

An idle session costs little memory: everything except its state is created when first needed.

A stream outlives its connections (2025-11-25, transports, resumability). Its events are numbered
from 1; number 0 is the priming event, which has no data. The id of an event consists of the
stream's number within the session and the event's number.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

from accord.jsonrpc.protocol.errors import ConnectionClosedError, ConnectionLostError
from accord.jsonrpc.protocol.framing import KEEP_ALIVE, encode_event, encode_priming
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success, id_key
from accord.jsonrpc.protocol.session import Counter, Session as Asked
from accord.jsonrpc.runtime.calls import Calls, decode_result
from accord.mcp.protocol.messages import CancelledParams, RequestId
from accord.mcp.protocol.versions import V2025_11_25
from accord.mcp.server.http.endpoint_state import EndpointState, Event
from accord.mcp.server.http.responses import notification
from accord.mcp.server.session import Principal, Session
from accord.transports.http.web_app import Stream

T = TypeVar("T")

_ID: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")

SPAN: Final = 1_000_000_000
"""The size of the number range that each process has, in one session, for streams and for requests
to the client. A process starts at a multiple of it; the first number is that of the stream of
announcements."""


class SessionPeers(Protocol):
    """The other processes that serve the same sessions."""

    @property
    def number(self) -> int:
        """The number of this process in the cluster."""

    def listen_to(self, session: HttpSession) -> bool:
        """Return whether the client listens to announcements of another process."""

    def say(self, session: HttpSession, data: bytes) -> None:
        """Send an announcement through the process that the client listens to."""

    def settle(self, session: HttpSession, response: Success | Failure) -> None:
        """Forward a client's answer to the process that sent the request."""

    def cancel(self, session: HttpSession, id: RequestId) -> None:
        """Cancel a request that another process serves."""


class SessionStore(Protocol):
    """The store of a session."""

    def add(self, session: HttpSession) -> None: ...

    def save(self, session: HttpSession) -> Awaitable[None] | None:
        """Save the changes that a request made to a session, before it is answered."""


class CallInFlight(Protocol):
    """A request of the client that is being served."""

    id: Id

    def abandon(self) -> None:
        """Stop serving the request without an answer."""


class HttpSession:
    """A session with one client: its state, requests in flight and streams."""

    __slots__ = (
        "__weakref__",
        "_asked",
        "_ends",
        "_numbered",
        "announcements",
        "calls",
        "endpoint",
        "id",
        "others",
        "over",
        "owner",
        "state",
        "store",
        "streams",
        "used",
    )

    def __init__(
        self,
        endpoint: EndpointState,
        store: SessionStore,
        id: str,
        principal: Principal | None,
        others: SessionPeers | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.store = store
        self.others = others
        self.id = id
        self.owner = principal
        """The principal that began the session; only this principal may use it."""
        self.state = Session()
        self.used = endpoint.now()
        """The time of the session's last use, by the event loop's clock."""
        self.calls: dict[object, CallInFlight] | None = None
        """Requests in flight, by id."""
        self.streams: dict[int, EventStream] | None = None
        """Open streams, by number."""
        self.announcements: EventStream | None = None
        """The stream of announcements; None until the client has requested it."""
        self.over = False
        self._numbered = self._first
        self._asked: Calls | None = None
        self._ends: list[Callable[[], None]] | None = None

    @property
    def _first(self) -> int:
        return 0 if self.others is None else self.others.number * SPAN

    @property
    def is_busy(self) -> bool:
        """True if requests are in flight or the client listens to announcements."""
        listens = self.announcements is not None and self.announcements.connected
        return bool(self.calls) or listens

    def touch(self) -> None:
        self.used = self.endpoint.now()

    # Requests of the client

    def add(self, call: CallInFlight) -> None:
        if self.calls is None:
            self.calls = {}
        self.calls[id_key(call.id)] = call

    def discard(self, call: CallInFlight) -> None:
        if self.calls is not None:
            self.calls.pop(id_key(call.id), None)
            self.calls = self.calls or None

    def serves(self, id: Id) -> bool:
        """Return whether a request with this id is in flight."""
        return self.calls is not None and id_key(id) in self.calls

    def cancel(self, id: RequestId) -> None:
        call = None if self.calls is None else self.calls.get(id_key(id))
        if call is not None:
            call.abandon()
        elif self.others is not None:
            self.others.cancel(self, id)

    # Streams

    def new_stream(self, requests: Sequence[Id]) -> EventStream:
        """Return a new stream for the answers to a POST."""
        self._numbered += 1
        return self._keep(EventStream(self, self._numbered), requests)

    def listen(self) -> EventStream:
        """Return the stream of announcements, created on first use."""
        if self.announcements is None:
            self.announcements = self._keep(EventStream(self, self._first), ())
        return self.announcements

    def stream(self, number: int) -> EventStream:
        """Return an open stream, or a new object for a stream that has ended."""
        found = None if self.streams is None else self.streams.get(number)
        return EventStream(self, number) if found is None else found

    def end_stream(self, stream: EventStream) -> None:
        """End a stream that is complete."""
        stream.disconnect()
        known = None if self.streams is None else self.streams.pop(stream.number, None)
        if known is not None and not self.over:
            self.endpoint.events.closed(self.id, stream.number)

    def announce(self, method: str, params: Any) -> None:
        """Send an announcement if the client listens to this process."""
        if self.announcements is not None:
            self.announcements.send(notification(method, params))

    def announce_anywhere(self, data: bytes) -> bool:
        """Send an announcement from the process that the client listens to.

        Return False if the client listens to no process.
        """
        if self.announcements is not None:
            self.announcements.send(data)
            return True
        if self.others is None or not self.others.listen_to(self):
            return False
        self.others.say(self, data)
        return True

    def stop_announcing(self) -> None:
        """End the stream of announcements, because another process now sends them."""
        if self.announcements is not None:
            self.end_stream(self.announcements)
            self.announcements = None

    def _keep(self, stream: EventStream, requests: Sequence[Id]) -> EventStream:
        opening = self.endpoint.events.opened(self.id, stream.number, requests)
        if opening is not None:
            stream.hold()
            self.endpoint.after(opening, stream.let_go)
        if self.streams is None:
            self.streams = {}
        self.streams[stream.number] = stream
        return stream

    # Requests to the client

    async def ask(
        self,
        method: str,
        params: Any,
        *,
        into: type[T],
        timeout: float | None,
        send: Callable[[bytes], None],
    ) -> T:
        """Send a request to the client, using `send`, and wait for the answer."""
        if self._asked is None:
            ids = Counter(first=self._first + 1)
            requests = Asked(limits=self.endpoint.limits, next_id=ids)
            self._asked = Calls(requests, timeout=timeout)
        call, data = self._asked.prepare(
            method, params, timeout=timeout, longest=None, idempotent=False, message=None
        )
        try:
            send(data)
        except ConnectionLostError:
            call.cancel()
            raise
        try:
            result: T = decode_result(await call.answer(), into, method)
        except (asyncio.CancelledError, TimeoutError):
            # 2025-11-25, cancellation: a sender that abandons its request cancels it
            assert isinstance(call.id, int)
            given_up = CancelledParams(request_id=call.id, reason="nobody waits for it any more")
            with suppress(ConnectionLostError):
                send(notification("notifications/cancelled", given_up))
            raise
        return result

    def settle(self, response: Success | Failure | Invalid) -> None:
        """Accept a client's answer, or forward it to the process that sent the request."""
        if self.others is not None and not isinstance(response, Invalid):
            id = response.id
            # Each process numbers its requests in its own span, so the id shows which one asked.
            if isinstance(id, int) and id // SPAN != self.others.number:
                self.others.settle(self, response)
                return
        if self._asked is not None:
            self._asked.settle(response)

    # The end

    def at_end(self, callback: Callable[[], None]) -> None:
        if self._ends is None:
            self._ends = []
        self._ends.append(callback)

    def end(self) -> None:
        """End the session and drop all of its state."""
        self.leave()
        ends, self._ends = self._ends, None
        for callback in ends or ():
            callback()
        self.endpoint.events.forget(self.id)

    def leave(self) -> None:
        """Abandon the session's requests and streams in this process."""
        self.over = True
        for call in tuple((self.calls or {}).values()):
            call.abandon()
        for stream in tuple((self.streams or {}).values()):
            self.end_stream(stream)
        self.announcements = None
        if self._asked is not None:
            self._asked.lose(ConnectionClosedError)


def event_id(stream: int, number: int) -> str:
    return f"{stream}-{number}"


def parse_event_id(text: str) -> tuple[int, int] | None:
    """Return the stream and event numbers in an event id; None for an invalid id."""
    found = _ID.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


class EventStream:
    """A stream of events in a session, with or without a connection."""

    __slots__ = ("_connection", "_held", "_last", "_leaving", "_session", "number")

    def __init__(self, session: HttpSession, number: int) -> None:
        self._session = session
        self._last = 0
        self._connection: Stream | None = None
        self._held: list[tuple[Stream, bytes]] | None = None
        """Encoded events held back until the stream is registered with the event store, each with
        its connection; None while nothing is to be held back."""
        self._leaving: list[Stream] = []
        """Connections to close after the data held back for them is sent."""
        self.number = number

    @property
    def connected(self) -> bool:
        return self._connection is not None

    @property
    def is_over(self) -> bool:
        """True if the stream has ended."""
        return self._session.streams is None or self.number not in self._session.streams

    @property
    def _is_nobodys(self) -> bool:
        """True for a stream of announcements to a principal with an expired token."""
        owner, announces = self._session.owner, self._session.announcements is self
        return announces and owner is not None and owner.has_expired

    def is_at(self, number: int) -> bool:
        """Return whether `number` is the number of the last event."""
        return number == self._last

    def connect(self, connection: Stream) -> None:
        """Send over this connection from now on, in place of the current one."""
        self._attach(connection)
        if self._session.state.version >= V2025_11_25:
            # 2025-11-25, transports: at once an event with an id and no data, so that the
            # client can reconnect. Older clients do not expect data that is no message.
            self._write(connection, encode_priming(event_id(self.number, self._last)))

    def reconnect(self, connection: Stream, missed: Sequence[Event]) -> None:
        """Attach the connection of a returning client and send the events that it missed."""
        self._attach(connection)
        self.relay(missed, False)

    def relay(self, events: Sequence[Event], is_last: bool) -> None:
        """Send the client events of this stream, which another process has stored.

        With `is_last`, close the connection after them.
        """
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
        """Store a message for the client, and send it if the client is connected."""
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

        Only then can a client that has received an event resume the stream at any process.
        """
        self._held = []

    def let_go(self) -> None:
        """Send the events that were held back until the stream was registered."""
        held, self._held = self._held or [], None
        for connection, data in held:
            connection.write(data)
        for connection in self._leaving:
            connection.close()
        self._leaving.clear()

    def release(self, retry_ms: int) -> None:
        """Close the connection but not the stream; the client reconnects after `retry_ms`."""
        if self._connection is not None:
            self._write(self._connection, b"retry: %d\n\n" % retry_ms)
            self.disconnect()

    def disconnect(self) -> None:
        """Close the current connection."""
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
