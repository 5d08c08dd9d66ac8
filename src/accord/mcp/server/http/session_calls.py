"""Requests of a session, the way back to their client, and the answer to a POST.

A POST has one request, or several in a batch (2025-03-26). It is answered by JSON if nothing is
sent before the answer, else by a stream. A client that disconnects cancels nothing (2025-11-25,
transports): later messages wait until it resumes the stream.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar, cast

from msgspec import Struct, UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.errors import ConnectionLostError
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, InvalidMessageReply, Success
from accord.jsonrpc.runtime.requests import Cancellable
from accord.mcp.protocol.headers import SESSION
from accord.mcp.protocol.messages import RequestId
from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.checks import AdmittedRequest
from accord.mcp.server.http.http_session import EventStream, HttpSession
from accord.mcp.server.http.responses import EVENT_STREAM, OK, notification, status_of
from accord.mcp.server.session import LINK, Phase, Principal, Session
from accord.transports.http.web_app import Exchange, Stream

RETRY_MS: Final = 500
"""Delay before a client comes back for a released stream."""


class PostResponse(Struct, eq=False):
    """One POST with requests in flight."""

    session: HttpSession
    arrival: AdmittedRequest
    _waiting: int = 1
    """The number of requests without an answer."""
    is_batch: bool = False
    lines: bytes = b""
    """Further header lines of an answer in JSON."""
    requests: list[Id] = []
    """The ids of its requests."""
    _answers: dict[int, tuple[Id, bytes]] = {}
    """Ids and answers by the position of the request."""
    _exchange: Exchange | None = None
    """The HTTP exchange; None once it is answered or the client is gone."""
    _beaten: bool = False
    _stream: EventStream | None = None
    _connection: Stream | None = None

    def __post_init__(self) -> None:
        exchange = self._exchange = self.arrival.exchange
        exchange.on_gone = self._gone

    def send(self, data: bytes) -> None:
        """Send a message that belongs to one of the requests.

        It is dropped if the client is gone and has no event to resume from.
        """
        if self._stream is not None or self._exchange is not None:
            self._open().send(data)

    @property
    def can_send(self) -> bool:
        """True if a message may still reach the client."""
        return self._waiting > 0 and (self._stream is not None or self._exchange is not None)

    def let_go(self) -> None:
        """Close the connection early; the client comes back by GET."""
        if self._exchange is not None:
            self._open().release(RETRY_MS)

    def wait(self) -> None:
        """Register for keep-alives: a request takes longer."""
        self.session.endpoint.pulse.add(self)

    def answered(self, place: int, data: bytes | None, id: Id = None) -> None:
        """Record the answer to the request at `place`; None if it has none."""
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
        """Switch a slow answer to a stream.

        Proxies and clients give up on silent connections, and a stream can be resumed.
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
        """Send a message as an announcement.

        Raises ConnectionLostError.
        """
        if not self._session.announce_anywhere(data):
            raise ConnectionLostError("the client does not listen for requests of the server")

    def cancel(self, id: RequestId) -> None:
        self._session.cancel(id)

    def close_stream(self) -> None:
        """Do nothing: no request's stream is open here."""


class NotificationSource:
    """The source of a session's notification; implements `Source`."""

    __slots__ = ("_arrival", "_link")

    def __init__(self, link: SessionLink, arrival: AdmittedRequest) -> None:
        self._link = link
        self._arrival = arrival

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return context_of(self._arrival, self._link, method, id)

    def answer(self, data: bytes | None) -> None:
        """Do nothing: notifications have no answers."""

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("only notifications are dispatched")


class SessionCall(SessionLink, eq=False):
    """A request in flight; implements `Source` and `ClientLink`."""

    _post: PostResponse
    id: Id
    _place: int = 0
    """The position in a batch."""
    _running: Cancellable | None = None
    _over: bool = False

    def register(self) -> None:
        """Make the request findable by its id."""
        self._post.requests.append(self.id)
        self._session.add(self)

    def begin(self, answer: bytes | None | Cancellable) -> None:
        """Take the dispatcher's answer or running call."""
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
    """The request that begins a session, which exists once it has succeeded."""

    def answer(self, data: bytes | None) -> None:
        session = self._session
        if session.state.phase is not Phase.NEW:
            session.store.add(session)
            self._post.lines = f"{SESSION}: {session.id}\r\n".encode("ascii")
        super().answer(data)


def context_of(
    arrival: AdmittedRequest, link: SessionLink, method: str, id: Id | UnsetType
) -> Context:
    return Context(
        method,
        id,
        channel=arrival.exchange.channel,
        headers=arrival.head.request.fields,
        state={LINK: link},
    )
