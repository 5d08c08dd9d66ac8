"""The table of sessions of the handshake era, the requests in a session, and the reply to a POST.

The table has limits, lifetimes and owners. A POST has one request, or several in a batch
(2025-03-26). It is answered by JSON if nothing is sent before the answer, else by a stream. If
a client disconnects, nothing is cancelled (2025-11-25, transports): later messages wait until the
client resumes the stream.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast

from msgspec import Struct, UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.errors import ConnectionLostError
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, InvalidMessageReply, Success
from accord.jsonrpc.runtime.requests import Cancellable
from accord.mcp.protocol.headers import SESSION
from accord.mcp.protocol.messages import RequestId
from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.checks import AdmittedHttpRequest
from accord.mcp.server.http.http_session import EventStream, HttpSession, SessionStore
from accord.mcp.server.http.responses import EVENT_STREAM, OK, notification, status_of
from accord.mcp.server.session import LINK, Phase, Principal, Session, owner_of
from accord.transports.http.web_app import Exchange, Stream


class SessionLimits(Struct, frozen=True, kw_only=True):
    """Limits on the number and lifetime of sessions."""

    max_sessions: int = 10_000
    """Limit of all sessions; beyond it the least recently used session is ended."""
    max_per_principal: int = 100
    """Limit of sessions per principal; anonymous sessions only count for `max_sessions`."""
    idle_seconds: float = 1_800.0
    """Lifetime of an unused session without a listening client."""
    handshake_seconds: float = 60.0
    """Time until a client must send `notifications/initialized`."""


ID_BYTES: Final = 32
MAX_LOOKED: Final = 100
"""The maximum number of sessions that are searched for one that never became ready."""


def new_id() -> str:
    """Return an unguessable session id of visible ASCII (2025-11-25, transports)."""
    return secrets.token_urlsafe(ID_BYTES)


class Sessions(SessionStore, Protocol):
    """A store of the sessions of one endpoint."""

    def __len__(self) -> int: ...

    def has_room(self, principal: Principal | None) -> bool | Awaitable[bool]:
        """Return whether a principal may begin one more session.

        May end an unused session to make room.
        """

    def listens(self, session: HttpSession) -> Awaitable[None] | None:
        """Register that the session's client gets its announcements from this process.

        This is called before the stream of announcements is opened.
        """

    def find(
        self, id: str, principal: Principal | None
    ) -> HttpSession | None | Awaitable[HttpSession | None]:
        """Return the session if it exists and belongs to this principal."""

    def end(self, session: HttpSession) -> Awaitable[None] | None: ...

    def sweep(self, now: float) -> bool:
        """End sessions that were unused for too long; return whether any are left."""

    def end_all(self) -> None:
        """End all sessions, because this process stops serving."""


class MemorySessions:
    """A store of sessions in the memory of this process; implements `Sessions`.

    The least recently used session comes first.
    """

    def __init__(self, limits: SessionLimits | None = None) -> None:
        self._limits = SessionLimits() if limits is None else limits
        # A plain dict is slow to find its first item after many removals at its start.
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._owned: dict[str, OrderedDict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def has_room(self, principal: Principal | None) -> bool:
        owner = owner_of(principal)
        if owner is not None:
            own = self._owned.get(owner, ())
            if len(own) >= self._limits.max_per_principal and not self._make_room(own):
                return False
        if len(self._sessions) < self._limits.max_sessions:
            return True
        return self._make_room(self._sessions)

    def add(self, session: HttpSession) -> None:
        self._sessions[session.id] = session
        owner = owner_of(session.owner)
        if owner is not None:
            self._owned.setdefault(owner, OrderedDict())[session.id] = None

    def save(self, session: HttpSession) -> None:
        """Do nothing: sessions are kept in memory."""

    def listens(self, session: HttpSession) -> None:
        """Do nothing: there is no other process that the client could listen to."""

    def find(self, id: str, principal: Principal | None) -> HttpSession | None:
        session = self._sessions.get(id)
        if session is None:
            return None
        # The same object, or None for anonymous callers, needs no comparison of keys.
        if session.owner is not principal and owner_of(session.owner) != owner_of(principal):
            return None
        session.touch()
        self._sessions.move_to_end(id)
        return session

    def end(self, session: HttpSession) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        owner = owner_of(session.owner)
        if owner is not None:
            own = self._owned[owner]
            del own[session.id]
            if not own:
                del self._owned[owner]
        session.end()

    def sweep(self, now: float) -> bool:
        limits = self._limits
        for session in tuple(self._sessions.values()):
            ready = session.state.phase is Phase.READY
            timeout = limits.idle_seconds if ready else limits.handshake_seconds
            if not session.is_busy and now - session.used > timeout:
                self.end(session)
        return bool(self._sessions)

    def end_all(self) -> None:
        for session in tuple(self._sessions.values()):
            self.end(session)

    def _make_room(self, among: Iterable[str]) -> bool:
        """End the least recently used session; return False if all are busy.

        A session that never became ready is preferred.
        """
        idle: HttpSession | None = None
        for looked, id in enumerate(among):
            session = self._sessions[id]
            if session.is_busy:
                continue
            if session.state.phase is not Phase.READY:
                idle = session
                break
            idle = idle or session
            if looked >= MAX_LOOKED:
                break
        if idle is None:
            return False
        self.end(idle)
        return True


RETRY_MS: Final = 500
"""Delay, in milliseconds, before a client reconnects to a released stream."""


class PostResponse(Struct, eq=False):
    """The response to one POST, while its requests are in flight."""

    session: HttpSession
    arrival: AdmittedHttpRequest
    _waiting: int = 1
    """The number of requests that are not answered yet."""
    is_batch: bool = False
    lines: bytes = b""
    """Additional header lines of an answer in JSON."""
    requests: list[Id] = []
    """The ids of the requests in the POST."""
    _answers: dict[int, tuple[Id, bytes]] = {}
    """By a request's position in the POST: the request's id and its encoded answer."""
    _exchange: Exchange | None = None
    """The HTTP exchange; None once the POST is answered or the client is gone."""
    _beaten: bool = False
    _stream: EventStream | None = None
    _connection: Stream | None = None

    def __post_init__(self) -> None:
        exchange = self._exchange = self.arrival.exchange
        exchange.on_gone = self._gone

    def send(self, data: bytes) -> None:
        """Send a message that belongs to one of the requests in the POST.

        The message is dropped if the client is gone and has no event to resume from.
        """
        if self._stream is not None or self._exchange is not None:
            self._open().send(data)

    @property
    def can_send(self) -> bool:
        """True if a message may still reach the client."""
        return self._waiting > 0 and (self._stream is not None or self._exchange is not None)

    def let_go(self) -> None:
        """Close the connection before the answer; the client reconnects with a GET."""
        if self._exchange is not None:
            self._open().release(RETRY_MS)

    def wait(self) -> None:
        """Start keep-alives, because a request in the POST is not answered at once."""
        self.session.endpoint.pulse.add(self)

    def answered(self, place: int, data: bytes | None, id: Id = None) -> None:
        """Record the answer to the request at `place`; None for a cancelled request.

        After the last answer, reply to the POST or end its stream.
        """
        self._waiting -= 1
        if self._stream is not None:
            if data is not None:
                self._stream.send(data)
        elif data is not None:
            self._answers[place] = id, data
        if self._waiting:
            return
        self.session.endpoint.pulse.discard(self)
        if self._stream is not None:
            self.session.end_stream(self._stream)
            self._exchange = None
        else:
            self._reply()

    def _reply(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:  # the client is gone, and has no event to resume from
            return
        if not self._answers:
            # 2025-11-25, cancellation: a cancelled request is not answered; the POST is.
            exchange.stream(headers=EVENT_STREAM + self.arrival.head.lines).close()
            return
        arrival, endpoint = self.arrival, self.session.endpoint
        lines = arrival.head.json + self.lines if self.lines else arrival.head.json
        if arrival.principal is not None:
            lines = endpoint.lines_for(arrival.principal, lines)
        if self.is_batch:
            answers = [data for _, (_, data) in sorted(self._answers.items())]
            exchange.reply(b"[" + b",".join(answers) + b"]", headers=lines)
            return
        id, data = self._answers[0]
        status = status_of(data, id, Era.HANDSHAKE)
        if status is OK:
            exchange.reply(data, headers=lines)
        else:
            endpoint.send_json(exchange, data, status, lines)

    def beat(self) -> None:
        """Switch to a stream of events for the answer, at the second keep-alive.

        The keep-alive timer calls this regularly while an answer is missing. Proxies and clients
        give up on silent connections, and a stream can be resumed.
        """
        if self._beaten:
            self.session.endpoint.pulse.discard(self)
            if self._exchange is not None:
                self._open()
        self._beaten = True

    def _open(self) -> EventStream:
        if self._stream is None:
            self._stream = self.session.new_stream(self.requests)
            if self._exchange is not None:
                lines = EVENT_STREAM + self.arrival.head.lines
                lines = self.session.endpoint.lines_for(self.arrival.principal, lines)
                self._connection = self._exchange.stream(headers=lines)
                self._stream.connect(self._connection)
            for _, (_, answer) in sorted(self._answers.items()):
                self._stream.send(answer)
            self._answers.clear()
        return self._stream

    def _gone(self) -> None:
        self._exchange = None
        if self._stream is not None and self._connection is not None:
            self._stream.lost(self._connection)


T = TypeVar("T")


class SessionLink(Struct, eq=False):
    """The link to the client of a session, for messages outside of any request.

    Implements `ClientLink`.
    """

    _session: HttpSession
    session: Session | None
    principal: Principal | None

    def notify(self, method: str, params: Any) -> None:
        self._session.announce(method, params)

    def announce(self, method: str, params: Any) -> None:
        self._session.announce(method, params)

    def at_end(self, callback: Callable[[], None]) -> None:
        self._session.at_end(callback)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        return await self._session.ask(method, params, into=into, timeout=timeout, send=self._say)

    def _say(self, data: bytes) -> None:
        """Send a message on the session's stream of announcements.

        Raises ConnectionLostError if the client does not listen to announcements.
        """
        if not self._session.announce_anywhere(data):
            raise ConnectionLostError("the client does not listen for requests of the server")

    def cancel(self, id: RequestId) -> None:
        self._session.cancel(id)

    def close_stream(self) -> None:
        """Do nothing: there is no stream of a request to close."""


class NotificationSource:
    """The source of a notification in a session; implements `Source`."""

    __slots__ = ("_arrival", "_link")

    def __init__(self, link: SessionLink, arrival: AdmittedHttpRequest) -> None:
        self._link = link
        self._arrival = arrival

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return context_of(self._arrival, self._link, method, id)

    def answer(self, data: bytes | None) -> None:
        """Do nothing: notifications have no answers."""

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("only notifications are dispatched")


class SessionCall(SessionLink, eq=False):
    """A request of a session in flight; implements `Source` and `ClientLink`."""

    _post: PostResponse
    id: Id
    _place: int = 0
    """The position of the request in a batch."""
    _running: Cancellable | None = None
    _over: bool = False

    def register(self) -> None:
        """Register the request with its session, where it can be found by its id."""
        self._post.requests.append(self.id)
        self._session.add(self)

    def begin(self, answer: bytes | None | Cancellable) -> None:
        """Store the dispatcher's running call, or reply if the answer is ready."""
        if type(answer) is bytes or answer is None or type(answer) is InvalidMessageReply:
            self.answer(answer)
        else:
            self._running = cast(Cancellable, answer)
            self._post.wait()

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return context_of(self._post.arrival, self, method, id)

    def answer(self, data: bytes | None) -> None:
        if not self._over:
            self._over = True
            self._running = None
            self._session.discard(self)
            self._session.touch()
            session = self._session
            saving = session.store.save(session)
            if saving is None:
                self._post.answered(self._place, data, self.id)
            else:
                answer = partial(self._post.answered, self._place, data, self.id)
                session.endpoint.after(saving, answer)

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("only requests are dispatched")

    def abandon(self) -> None:
        """Stop serving the request without an answer."""
        if self._running is not None:
            self._running.cancel()
        self.answer(None)

    # Methods of `ClientLink`

    def notify(self, method: str, params: Any) -> None:
        if not self._over:
            self._post.send(notification(method, params))

    def announce(self, method: str, params: Any) -> None:
        self._session.announce_anywhere(notification(method, params))

    def _say(self, data: bytes) -> None:
        if self._post.can_send:
            self._post.send(data)
        else:
            super()._say(data)

    def close_stream(self) -> None:
        if not self._over:
            self._post.let_go()


class InitializeCall(SessionCall, eq=False):
    """An `initialize` request in flight; its session is added once it has succeeded."""

    def answer(self, data: bytes | None) -> None:
        session = self._session
        if session.state.phase is not Phase.NEW:
            session.store.add(session)
            self._post.lines = f"{SESSION}: {session.id}\r\n".encode("ascii")
        super().answer(data)


def context_of(
    arrival: AdmittedHttpRequest, link: SessionLink, method: str, id: Id | UnsetType
) -> Context:
    return Context(
        method,
        id,
        channel=arrival.exchange.channel,
        headers=arrival.head.request.fields,
        state={LINK: link},
    )
