"""One connection of the client: carries one request at a time and hands in its response.

A request is never sent twice: POST is not idempotent, and a connection that ends before the
response may have ended after the server did the work (RFC 9110, section 9.2.2).
"""

from __future__ import annotations

import asyncio
import select
from typing import Protocol, cast

from accord.jsonrpc.protocol.errors import ConnectionLostError, FramingError, TransportError
from accord.transports.http.heads import MalformedError
from accord.transports.http.responses import Response, ResponseReader, TooLargeError
from accord.transports.sockets import tune


class Owner(Protocol):
    """Whom a connection works for."""

    def began(self, connection: ClientConnection) -> None:
        """The connection is there, and free."""

    def answered(self, connection: ClientConnection, sent: bytes, response: Response) -> None:
        """The response to `sent` is whole."""

    def failed(self, sent: bytes, error: TransportError) -> None:
        """There will be no response to `sent`."""

    def ended(self, connection: ClientConnection) -> None:
        """The connection is gone."""


class ClientConnection(asyncio.Protocol):
    """One connection to the server."""

    def __init__(self, owner: Owner, *, max_body: int | None) -> None:
        self._owner = owner
        self._max_body = max_body
        self._reader = ResponseReader(max_body=max_body)
        self._poll = select.poll()
        self.sent: bytes | None = None
        """The message that waits for its response."""

    def ask(self, head: bytes, message: bytes) -> None:
        """Send a request; `head` lacks only its length."""
        self.sent = message
        self._transport.write(b"%b%d\r\n\r\n%b" % (head, len(message), message))

    @property
    def usable(self) -> bool:
        """Whether the server has neither ended the connection nor said anything unasked.

        The socket is asked, as the event loop may not have looked at it yet.
        """
        return not self._transport.is_closing() and not self._poll.poll(0)

    def abort(self) -> None:
        """End the connection now; what was sent gets no response and no error."""
        self.sent = None
        self._transport.abort()

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tune(transport)
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._owner.began(self)

    def data_received(self, data: bytes) -> None:
        if self.sent is None:  # nothing was asked
            self._transport.abort()
            return
        try:
            response = self._reader.feed(data)
        except MalformedError as error:
            self._fail(FramingError(f"the server's answer is not HTTP: {error.reason}"))
        except TooLargeError:
            self._fail(_too_large(self._max_body))
        else:
            if response is not None:
                self._deliver(self.sent, response)

    def connection_lost(self, error: Exception | None) -> None:
        response = self._reader.end() if self.sent is not None and error is None else None
        if self.sent is not None and response is not None:
            self._deliver(self.sent, response)
        self._fail(_lost(error))
        self._owner.ended(self)

    def _deliver(self, sent: bytes, response: Response) -> None:
        self.sent = None
        if not response.keep_alive:
            self._transport.abort()
        self._owner.answered(self, sent, response)

    def _fail(self, error: TransportError) -> None:
        sent, self.sent = self.sent, None
        self._transport.abort()
        if sent is not None:
            self._owner.failed(sent, error)


def _lost(error: Exception | None) -> ConnectionLostError:
    lost = ConnectionLostError("the server ended the connection without an answer")
    lost.__cause__ = error
    return lost


def _too_large(most: int | None) -> TransportError:
    return TransportError(
        f"the answer is over the limit of {most:,} bytes",
        recoverable=False,
        advice="Raise limits.max_message_bytes, or ask for less at once.",
        data={"maxSize": most, "unit": "bytes"},
    )
