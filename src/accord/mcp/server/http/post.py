"""The answer to one POST in a session: JSON if nothing is said before it, else a stream.

A POST has one request, or several in a batch (2025-03-26). A client that goes away cancels
nothing (2025-11-25, transports): what is still said is kept with its stream, if there is one.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.jsonrpc.messages import Id
from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.answers import EVENT_STREAM, OK, status_of
from accord.mcp.server.http.arrival import Arrival
from accord.mcp.server.http.http_session import EventStream, HttpSession
from accord.transports.web.app import Exchange, Stream

RETRY_MS: Final = 500
"""Delay before a client comes back for a released stream."""


class Post(Struct, eq=False):
    """One POST with requests in flight."""

    session: HttpSession
    arrival: Arrival
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
