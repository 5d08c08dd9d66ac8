"""The answer to one POST in a session: JSON if nothing is said before it, else a stream.

A POST has one request, or several in a batch (2025-03-26). A client that goes away cancels
nothing (2025-11-25, transports): what is still said is kept with its stream, if there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.answers import OK, Status, status_of
from accord.mcp.server.http.event_stream import EventStream
from accord.mcp.server.http.gate import McpHead
from accord.mcp.server.http.stateless import EVENT_STREAM
from accord.transports.web.app import Exchange, Stream

if TYPE_CHECKING:
    from accord.mcp.server.http.http_session import HttpSession
    from accord.mcp.server.http.session_call import SessionCall

RETRY_MS: Final = 500
"""How long a client is asked to wait before it comes back for a stream that was let go."""


class Post:
    """One POST whose requests are being answered."""

    __slots__ = (
        "_answers",
        "_batch",
        "_connection",
        "_exchange",
        "_stream",
        "_waiting",
        "head",
        "session",
    )

    def __init__(
        self, session: HttpSession, head: McpHead, exchange: Exchange, *, batch: bool = False
    ) -> None:
        self.session = session
        self.head = head
        self._exchange: Exchange | None = exchange
        self._batch = batch
        self._stream: EventStream | None = None
        self._connection: Stream | None = None
        self._answers: list[bytes] = []
        self._waiting = 0
        exchange.on_gone = self._gone

    def expect(self, answers: int) -> None:
        """So many requests are being served."""
        self._waiting = answers

    def send(self, data: bytes) -> None:
        """Send a message that belongs to one of the requests."""
        self._open().send(data)

    def let_go(self) -> None:
        """Close the connection before everything is said; the client comes back by GET."""
        self._open().release(RETRY_MS)

    def answered(self, call: SessionCall, data: bytes | None) -> None:
        """One of the requests has been answered, or will not be."""
        self._waiting -= 1
        if self._stream is not None:
            if data is not None:
                self._stream.send(data)
            if not self._waiting:
                self.session.end_stream(self._stream)
                self._exchange = None
            return
        if data is not None:
            self._answers.append(data)
        if not self._waiting:
            self._reply(call)

    def _reply(self, call: SessionCall) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:  # the client is gone, and has no event to resume from
            return
        if not self._answers:
            # 2025-11-25, cancellation: a cancelled request is not answered; the POST is.
            exchange.stream(headers=EVENT_STREAM + self.head.lines).close()
            return
        status = OK
        body = self._answers[0]
        if self._batch:
            body = b"[" + b",".join(self._answers) + b"]"
        else:
            status = status_of(body, call.id, Era.HANDSHAKE)
        self._send_json(exchange, body, status, call)

    def _send_json(
        self, exchange: Exchange, body: bytes, status: Status, call: SessionCall
    ) -> None:
        lines = self.head.json + call.lines if call.lines else self.head.json
        if status is not OK:
            lines += self.session.endpoint.challenge(status)
        exchange.reply(body, status=status.code, headers=lines)

    def _open(self) -> EventStream:
        if self._stream is None:
            self._stream = self.session.new_stream()
            exchange = self._exchange
            if exchange is not None:
                self._connection = exchange.stream(headers=EVENT_STREAM + self.head.lines)
                self._stream.connect(self._connection)
            for answer in self._answers:
                self._stream.send(answer)
            self._answers.clear()
        return self._stream

    def _gone(self) -> None:
        self._exchange = None
        if self._stream is not None and self._connection is not None:
            self._stream.lost(self._connection)
