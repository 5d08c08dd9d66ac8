"""The state that the requests of one HTTP endpoint share, in both eras, and stored events.

`McpEndpoint` extends this state and dispatches requests. Sessions and calls use it for keep-alives,
stored events, background work and answers. One timer serves all keep-alives; it runs while there
are streams or sessions.

Events of streams are stored for clients that lost their connection. They are stored in memory, up
to a limit; the oldest are dropped first. A client whose missed events were dropped cannot resume
its stream. Several processes share another store (`accord.mcp.server.cluster`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct

from accord.jsonrpc.methods.router import RequestFault, id_fault
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.diagnosis import is_id_fault
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.jsonrpc.protocol.messages import Id, Invalid, encode_failure
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.mcp.protocol.messages import request_error
from accord.mcp.protocol.versions import Era
from accord.mcp.server.auth.authenticator import Authenticator
from accord.mcp.server.core import ServableServer
from accord.mcp.server.http.checks import McpGate
from accord.mcp.server.http.responses import Status
from accord.mcp.server.session import Principal
from accord.transports.http.web_app import Exchange

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_EVENTS: Final = 50_000
MAX_PER_SESSION: Final = 256


class Event(Struct, frozen=True, gc=False):
    """A message sent on a stream, and its number on that stream."""

    number: int
    data: bytes


EventRelay: TypeAlias = Callable[[Sequence[Event], bool], None]
"""A function that is called with the next events of a remote stream, and with True if the stream
ends with them."""


class RemoteStream(Struct, frozen=True):
    """A stream that another process is still sending on."""

    events: Sequence[Event]
    """The stored events that the client has missed."""
    follow: Callable[[EventRelay], Callable[[], None]]
    """A function that subscribes an `EventRelay` to all later events of the stream, and returns a
    function that unsubscribes it."""


class OrphanedStream(Struct, frozen=True):
    """A stream of announcements left by a dead process; this process now sends them."""

    events: Sequence[Event]


MissedEvents: TypeAlias = Sequence[Event] | RemoteStream | OrphanedStream | None


class EventStore(Protocol):
    """A store of the events of streams; each session numbers its streams."""

    def opened(self, session: str, stream: int, requests: Sequence[Id]) -> Awaitable[None] | None:
        """Register a new stream of a session, before anything is sent on it.

        `requests` are the ids of the requests that are answered on the stream; a stream of
        announcements has none.
        """

    def closed(self, session: str, stream: int) -> None:
        """Mark a stream as complete: no more events will be sent on it."""

    def append(self, session: str, stream: int, event: Event) -> None:
        """Store an event of a stream. Never blocks."""

    def after(
        self, session: str, stream: int, number: int
    ) -> MissedEvents | Awaitable[MissedEvents]:
        """Return the events of a stream after the event `number`.

        Return None if one of them is no longer stored.
        """

    def forget(self, session: str) -> None:
        """Delete all events of a session that has ended."""


class MemoryEvents:
    """A store of the last events per session, in memory and up to a total limit."""

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
        """Do nothing: streams need no registration, only events are stored."""

    def closed(self, session: str, stream: int) -> None:
        """Do nothing: a client that missed the last events can still fetch them."""

    def append(self, session: str, stream: int, event: Event) -> None:
        events = self._sessions.get(session)
        if events is None:
            events = self._sessions[session] = _SessionEvents()
        else:
            self._sessions.move_to_end(session)
        events.events[stream, event.number] = event.data
        events.streams[stream] = event.number
        self.size += len(event.data)
        self.count += 1
        if len(events.events) > self._max_per_session:
            self._drop_one(events)
        while self.size > self._max_bytes or self.count > self._max_events:
            self._drop_oldest()

    def after(self, session: str, stream: int, number: int) -> list[Event] | None:
        events = self._sessions.get(session)
        if events is None or number > events.streams.get(stream, -1):
            return None
        found = []
        for each in range(number + 1, events.streams[stream] + 1):
            data = events.events.get((stream, each))
            if data is None:
                return None
            found.append(Event(each, data))
        return found

    def forget(self, session: str) -> None:
        events = self._sessions.pop(session, None)
        if events is not None:
            self.size -= sum(map(len, events.events.values()))
            self.count -= len(events.events)

    def _drop_oldest(self) -> None:
        session, events = next(iter(self._sessions.items()))
        self._drop_one(events)
        if not events.events:
            del self._sessions[session]

    def _drop_one(self, events: _SessionEvents) -> None:
        self.size -= events.drop()
        self.count -= 1


class _SessionEvents:
    """The stored events of one session, oldest first."""

    __slots__ = ("events", "streams")

    def __init__(self) -> None:
        self.events: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self.streams: dict[int, int] = {}
        """The number of the last event of each stream, by the stream's number."""

    def drop(self) -> int:
        """Drop the oldest event and return its size in bytes."""
        (stream, number), data = self.events.popitem(last=False)
        if self.streams[stream] == number:
            del self.streams[stream]
        return len(data)


class KeepAliveStream(Protocol):
    """A stream that sends keep-alives."""

    def beat(self) -> None: ...


class KeepAliveTimer:
    """A timer that sends keep-alives on all streams and ends old sessions."""

    def __init__(self, seconds: float, sweep: Callable[[], bool]) -> None:
        """Store the callback `sweep`, which ends old sessions at every beat.

        It returns whether the timer must continue because sessions remain.
        """
        self._seconds = seconds
        self._sweep = sweep
        self._streams: set[KeepAliveStream] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def streams(self) -> int:
        return len(self._streams)

    def add(self, stream: KeepAliveStream) -> None:
        self._streams.add(stream)
        self.start()

    def discard(self, stream: KeepAliveStream) -> None:
        self._streams.discard(stream)

    def start(self) -> None:
        """Start the timer, if it is not running: there is a stream or a session."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._beat)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._timer = None
        for stream in tuple(self._streams):
            stream.beat()
        if self._sweep() or self._streams:
            self.start()


log = logging.getLogger("accord.mcp.http")

T = TypeVar("T")


def loop_time() -> float:
    """Return the time of the running event loop."""
    return asyncio.get_running_loop().time()


class EndpointState:
    """The shared state of one endpoint."""

    dispatcher: Dispatcher
    """Serves messages; created when the endpoint starts."""

    def __init__(
        self,
        server: ServableServer,
        *,
        limits: Limits,
        events: EventStore,
        gate: McpGate,
        auth: Authenticator | None,
        plain_refusals: bool,
        pulse_seconds: float,
        sweep: Callable[[], bool],
    ) -> None:
        self.server = server
        self.limits = limits
        self.events = events
        self.gate = gate
        self.pulse = KeepAliveTimer(pulse_seconds, sweep)
        self.statistics = Statistics()
        self._auth = auth
        self._answer_lines = getattr(auth, "answer_lines", None)
        self._plain_refusals = plain_refusals
        self.now = loop_time
        """The clock of the event loop: a function that returns its time in seconds."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop that this endpoint was started on; None while it is not running."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._finishing: set[asyncio.Task[None]] = set()
        """Background work that must finish before the endpoint closes."""

    def lines_for(self, principal: Principal | None, lines: bytes) -> bytes:
        """Return header lines of an answer, with the authenticator's lines for the caller."""
        if principal is None or self._answer_lines is None:
            return lines
        more: bytes = self._answer_lines(principal)
        return lines + more

    def send_json(self, exchange: Exchange, body: bytes, status: Status, headers: bytes) -> None:
        """Send an answer in JSON with its HTTP status and the headers for that status."""
        if status.code != 403:
            if status.retry_after:
                headers += b"retry-after: %d\r\n" % status.retry_after
            exchange.reply(body, status=status.code, headers=headers)
        elif self._plain_refusals:
            exchange.reply(body, headers=headers)
        else:
            if self._auth is not None and status.scopes:
                headers += self._auth.forbidden(status.scopes)
            exchange.reply(body, status=403, headers=headers)

    # Errors of requests with refused ids, and of invalid batch items

    def request_error(
        self, fault: RequestFault, *, stateless: bool = False, of: RpcError | None = None
    ) -> RpcError:
        """Return the error for a malformed request, such as one with an invalid id.

        `fault` names the fault. The code of the error depends on the era and on the server's error
        codes (`profile`).
        """
        found = Era.STATELESS if stateless else Era.HANDSHAKE
        return request_error(fault, era=found, profile=self.server.codes, of=of)

    def refused_id(self, id: Id, in_use: Callable[[Id], bool]) -> bytes | None:
        """Return the encoded error for a batch item whose id is invalid or in use.

        Return None if the id is valid.
        """
        fault = id_fault(id, in_use)
        if fault is None:
            return None
        return encode_failure(id if fault == "id_conflict" else None, self.request_error(fault))

    def refused(self, message: Invalid) -> bytes:
        """Return the encoded answer to an invalid item of a batch."""
        if is_id_fault(message):
            return encode_failure(message.id, self.request_error("invalid_id"))
        return message.answer or encode_failure(message.id, message.error)

    # Background work

    def after(self, done: Awaitable[None] | None, proceed: Callable[[], None]) -> None:
        """Call `proceed` when `done` completes or fails, even if the client disconnects.

        If `done` is None, call `proceed` at once.
        """
        if done is None:
            proceed()
            return

        async def wait() -> None:
            try:
                await done
            except Exception:
                log.exception("a session could not be kept")
            proceed()

        task = asyncio.get_running_loop().create_task(wait())
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)

    def then(
        self, value: T | Awaitable[T], proceed: Callable[[T], None], exchange: Exchange
    ) -> None:
        """Call `proceed` with a value, after awaiting it if it is awaitable.

        If the client disconnects meanwhile, `proceed` is not called. If the awaitable or `proceed`
        fails, the client gets an internal error.
        """
        if not hasattr(value, "__await__"):
            proceed(value)
            return

        async def wait() -> None:
            try:
                found = await cast(Awaitable[T], value)
                exchange.on_gone = None
                proceed(found)
            except Exception:
                log.exception("a request could not be handled")
                error = own_error("internal_error")
                exchange.reply(encode_failure(None, error), status=500)

        task = asyncio.get_running_loop().create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def gone() -> None:
            task.cancel()

        exchange.on_gone = gone
