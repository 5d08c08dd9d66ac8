"""One request over ASGI: its body, what its handlers may know, its answer.

An answer that is there at once costs nothing beside the two events that send it. Only while a
handler takes its time is the client listened to: when it goes away, what runs is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from msgspec import UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Refused, Success
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.requests import Cancellable
from accord.transports.asgi.protocol import Event, Receive, Scope, Send
from accord.transports.asgi.scope import channel_info
from accord.transports.http.dispatch import count_unasked
from accord.transports.http.fields import Fields, Pairs
from accord.transports.http.replies import NO_CONTENT, Reply, pairs_in
from accord.transports.memory_budget import Reservation

SCOPE: Final = "asgi.scope"
"""Under this name handlers find the request's scope in `Context.state`."""

_JSON: Final = (b"content-type", b"application/json")


class BodyTooLargeError(Exception):
    """A body is over the limit; the rest of it was not read."""


class NoMemoryError(Exception):
    """There is no memory left for a body; the rest of it was not read."""


class ClientGoneError(Exception):
    """The client went away: nobody waits for an answer."""


class Exchange:
    """A request from its body to its answer; implements `Source`."""

    __slots__ = (
        "_answered",
        "_gone",
        "_receive",
        "_running",
        "_scope",
        "_send",
        "_statistics",
        "cors",
        "fields",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, statistics: Statistics) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._statistics = statistics
        self._gone = False
        self._running: Cancellable
        self._answered: asyncio.Future[bytes | None]
        self.fields = Fields([])
        """The header fields of the request, once they have been read."""
        self.cors = b""
        """Header lines for a browser that asks on behalf of another origin."""

    async def body(self, most: int | None, reservation: Reservation) -> bytes:
        """Return the request's body. Raises BodyTooLargeError, NoMemoryError, ClientGoneError."""
        return await read_body(self._receive, most, reservation)

    async def outcome(self, running: Cancellable) -> bytes | None:
        """The answer of what is running. Raises ClientGoneError once that is cancelled."""
        loop = asyncio.get_running_loop()
        self._running = running
        self._answered = loop.create_future()
        listening = loop.create_task(self._await_disconnect())
        try:
            answer = await self._answered
        except asyncio.CancelledError:
            running.cancel()
            raise
        finally:
            listening.cancel()
        if self._gone:
            raise ClientGoneError
        return answer

    async def _await_disconnect(self) -> None:
        with contextlib.suppress(Exception):  # a server that cannot tell: then nobody listens
            event = await self._receive()
            if event["type"] == "http.disconnect" and not self._answered.done():
                self._gone = True
                self._running.cancel()
                self._answered.set_result(None)

    # The dispatcher's callbacks: see `Source`

    def context(self, method: str, id: Id | UnsetType) -> Context:
        scope = self._scope
        return Context(
            method,
            id,
            channel=channel_info(scope),
            headers=self.fields,
            state={SCOPE: scope},
        )

    def answer(self, data: bytes | None) -> None:
        if not self._answered.done():
            self._answered.set_result(data)

    def settle(self, response: Success | Failure | Invalid) -> None:
        count_unasked(self._statistics, response)

    # Answering

    async def send_answer(self, answer: bytes | None) -> None:
        """Send what the dispatcher answered."""
        if answer is None:
            await self._respond(204, [], b"")
            return
        status = 400 if type(answer) is Refused else 200
        await self._respond(status, [_JSON, _length(answer)], answer)

    async def send_reply(self, reply: Reply) -> None:
        """Send what is answered without a method being called."""
        pairs = reply.pairs
        if reply.status not in NO_CONTENT:
            pairs.append(_length(reply.body))
        # RFC 9110, section 9.3.2: HEAD tells about a body that is not sent.
        await self._respond(
            reply.status, pairs, b"" if self._scope["method"] == "HEAD" else reply.body
        )

    async def _respond(self, status: int, headers: Pairs, body: bytes) -> None:
        if self.cors:
            headers += pairs_in(self.cors)
        try:
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})
        except OSError:
            pass  # ASGI, HTTP since version 2.4: the client is gone


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", b"%d" % len(body)


async def read_body(
    receive: Receive, most: int | None, reservation: Reservation, first: Event | None = None
) -> bytes:
    """Return the body of a request, whose `first` event may have come already.

    Raises BodyTooLargeError, NoMemoryError, ClientGoneError.
    """
    event = await receive() if first is None else first
    body: bytes = event.get("body", b"")
    if event.get("more_body"):
        parts = [body]
        size = len(body)
        while event.get("more_body") and (most is None or size <= most):
            if not reservation.resize(size):
                raise NoMemoryError
            event = await receive()
            parts.append(event.get("body", b""))
            size += len(parts[-1])
        body = b"".join(parts)
    if event["type"] == "http.disconnect":
        raise ClientGoneError
    if most is not None and len(body) > most:
        raise BodyTooLargeError
    return body
