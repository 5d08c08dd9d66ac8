"""JSON-RPC over HTTP: a listener on one path, whose requests are messages."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import cast

from msgspec import UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, InvalidMessageReply, Success
from accord.jsonrpc.runtime.requests import Cancellable
from accord.transports.http.admission import Head
from accord.transports.http.connection import CallSite, HttpConnection, Site
from accord.transports.http.heads import QUERY
from accord.transports.http.replies import CLOSE, CRASHED, Reply, answer_too_large
from accord.transports.http.requests import Dispatch, Wait, count_unasked
from accord.transports.options import Options
from accord.transports.sockets import Arrivals, listen
from accord.transports.urls import WebAddress, parse_served_address

log = logging.getLogger("accord.transports.http")


class CallConnection(HttpConnection):
    """One connection whose requests are handed to a dispatcher; implements `RequestSource`."""

    __slots__ = ("_head",)

    _site: CallSite

    def __init__(self, site: CallSite) -> None:
        super().__init__(site)
        self._head: Head | None = None

    def _handle(self, head: Head, body: bytes) -> None:
        self._head = head
        reader = self._reader
        self._reservation, reader.reservation = reader.reservation, None
        try:
            answer = self._site.handle(body, self)
        except Exception:
            log.exception("a request of %s could not be handled", self._info.address)
            self._release()
            self._put_reply(CRASHED.adding(head.cors))
            return
        if type(answer) is bytes or answer is None or type(answer) is InvalidMessageReply:
            self._release()
            self._put(head, answer)
        else:
            self._running = cast(Cancellable, answer)

    # The dispatcher's callbacks: see `RequestSource`

    def context(self, method: str, id: Id | UnsetType) -> Context:
        assert self._head is not None
        request = self._head.request
        state = {QUERY: request.query.encode("ascii")} if request.query else {}
        return Context(method, id, channel=self._info, headers=request.fields, state=state)

    def answer(self, data: bytes | None) -> None:
        if self._running is None:  # the client is gone
            return
        self._running = None
        self._release()
        assert self._head is not None
        self._put(self._head, data)
        self._go_on()

    def settle(self, response: Success | Failure | Invalid) -> None:
        count_unasked(self._site.statistics, response)

    # Writing

    def _put(self, head: Head, answer: bytes | None) -> None:
        site = self._site
        if answer is not None and len(answer) > site.limits.max_queued_bytes:
            self._put_reply(self._answer_too_large(len(answer)).adding(head.cors))
            return
        extra = head.extra
        if head.close:
            self._last = Wait.END
        elif site.leaving:
            self._last = Wait.END
            extra = head.cors + CLOSE
        starts = site.starts
        if answer is None:
            response = b"%b%b\r\n" % (starts.nothing, extra)
        elif not extra and type(answer) is bytes:
            length = len(answer)
            response = (starts.known(length) or starts.of_length(length)) + answer
        else:
            start = starts.refused if type(answer) is InvalidMessageReply else starts.answer
            response = b"%bcontent-length: %d\r\n%b\r\n%b" % (start, len(answer), extra, answer)
        self._out.append(response)
        self._out_bytes += len(response)

    def _answer_too_large(self, size: int) -> Reply:
        most = self._site.limits.max_queued_bytes
        log.warning("%s is not answered: %d bytes are over the limit", self._info.address, size)
        return answer_too_large(size, most)


async def listen_http(url: str, dispatch: Dispatch, options: Options) -> HttpListener:
    """Serve `dispatch` at `url`, such as `http://127.0.0.1:8000/rpc`; port 0 picks a free one.

    Raises ConnectError when that cannot be.
    """
    address = parse_served_address(url)

    def make(at: WebAddress) -> HttpListener:
        site = CallSite(at.scheme, at.path, dispatch, options)
        return HttpListener(at, site, lambda: CallConnection(site), options)

    return await listen(address, options, make)


class HttpListener:
    """A listening HTTP server. `close` ends it together with its connections."""

    def __init__(
        self,
        address: WebAddress,
        site: Site,
        connection: Callable[[], HttpConnection],
        options: Options,
    ) -> None:
        self.url = str(address)
        self._site = site
        self._arrivals = Arrivals(
            address,
            connection,
            options,
            has_room=lambda: self._site.has_room_for(self._arrivals.under_way),
        )

    async def start(self, sockets: list[socket.socket]) -> None:
        await self._arrivals.start(sockets)

    @property
    def connections(self) -> int:
        return len(self._site.connections)

    @property
    def buffered_bytes(self) -> int:
        """How much memory is held for bodies of requests."""
        return self._site.budget.all.held

    def announce_end(self) -> None:
        """Go on as before, but for answers, each of which ends its connection and says so: clients
        who keep their connections go elsewhere, and none has to find out by an error."""
        self._site.leaving = True

    async def close(self) -> None:
        """Stop accepting, let requests that are under way be answered, then end.

        A connection belongs to nobody but its listener, so this waits until the last one is
        gone. Cancelled, it cuts those that are left.
        """
        await self._arrivals.close()
        await self._site.close()
