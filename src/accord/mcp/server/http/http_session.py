"""One session of the handshake era over HTTP: what its requests and streams share.

Costs little while nothing happens: everything but its state is made when first needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from accord.jsonrpc.call import decode_result
from accord.jsonrpc.calls import Calls
from accord.jsonrpc.errors import ConnectionClosedError, ConnectionLostError
from accord.jsonrpc.ids import Counter
from accord.jsonrpc.messages import Failure, Id, Invalid, Success, id_key
from accord.jsonrpc.session import Session as Asked
from accord.mcp.protocol.params import CancelledParams, RequestId
from accord.mcp.server.http.answers import notification
from accord.mcp.server.http.event_stream import EventStream
from accord.mcp.server.principal import Principal
from accord.mcp.server.session import Session

if TYPE_CHECKING:
    from accord.mcp.server.http.endpoint import McpEndpoint
    from accord.mcp.server.http.session_call import SessionCall

T = TypeVar("T")

SPAN: Final = 1_000_000_000
"""The number range of a process for streams, and for requests to the client, in one session. A
process starts at a multiple of it; the first number is the stream of announcements."""


class Others(Protocol):
    """Other processes that serve the same sessions."""

    @property
    def number(self) -> int:
        """The number of this process among them."""

    def listen_to(self, session: HttpSession) -> bool:
        """Return whether the client listens to announcements of another process."""

    def say(self, session: HttpSession, data: bytes) -> None:
        """Make that process send an announcement."""

    def settle(self, session: HttpSession, response: Success | Failure) -> None:
        """Forward a client's answer to the process that waits for it."""

    def cancel(self, session: HttpSession, id: RequestId) -> None:
        """Cancel a request that another process serves."""


class HttpSession:
    """A client that has shaken hands, with its requests and streams."""

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
        "streams",
        "used",
    )

    def __init__(
        self,
        endpoint: McpEndpoint,
        id: str,
        principal: Principal | None,
        others: Others | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.others = others
        self.id = id
        self.owner = principal
        """The principal that began it; only this principal may use it."""
        self.state = Session()
        self.used = endpoint.now()
        """Time of the last use."""
        self.calls: dict[object, SessionCall] | None = None
        """Requests in flight, by id."""
        self.streams: dict[int, EventStream] | None = None
        """Open streams, by number."""
        self.announcements: EventStream | None = None
        """The stream of announcements, once the client has asked for it."""
        self.over = False
        self._numbered = self._first
        self._asked: Calls | None = None
        self._ends: list[Callable[[], None]] | None = None

    @property
    def _first(self) -> int:
        return 0 if self.others is None else self.others.number * SPAN

    @property
    def is_busy(self) -> bool:
        """True if requests are in flight or the client listens."""
        listens = self.announcements is not None and self.announcements.connected
        return bool(self.calls) or listens

    def touch(self) -> None:
        self.used = self.endpoint.now()

    # Requests of the client

    def add(self, call: SessionCall) -> None:
        if self.calls is None:
            self.calls = {}
        self.calls[id_key(call.id)] = call

    def discard(self, call: SessionCall) -> None:
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
        """Return the stream of announcements."""
        if self.announcements is None:
            self.announcements = self._keep(EventStream(self, self._first), ())
        return self.announcements

    def stream(self, number: int) -> EventStream:
        """Return an open stream, or a stand-in for one that has ended."""
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

        Return whether the client listens to any.
        """
        if self.announcements is not None:
            self.announcements.send(data)
            return True
        if self.others is None or not self.others.listen_to(self):
            return False
        self.others.say(self, data)
        return True

    def stop_announcing(self) -> None:
        """End the stream of announcements: another process has taken over."""
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
        """Send a request to the client by `send`, and wait for the answer."""
        if self._asked is None:
            ids = Counter(first=self._first + 1)
            asked = Asked(limits=self.endpoint.limits, next_id=ids)
            self._asked = Calls(asked, timeout=timeout)
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
            # 2025-11-25, cancellation: whoever gives a request up says so
            assert isinstance(call.id, int)
            given_up = CancelledParams(request_id=call.id, reason="nobody waits for it any more")
            with suppress(ConnectionLostError):
                send(notification("notifications/cancelled", given_up))
            raise
        return result

    def settle(self, response: Success | Failure | Invalid) -> None:
        """Take a client's answer."""
        if self.others is not None and not isinstance(response, Invalid):
            id = response.id
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
