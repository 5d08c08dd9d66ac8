"""One request of the stateless era: answered by JSON, or by a stream once its handler says
something before it answers (2026-07-28, Streamable HTTP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec import Struct, UnsetType

from accord.jsonrpc.answers import Refused
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import own_error
from accord.jsonrpc.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.running import Cancellable
from accord.jsonrpc.sse import KEEP_ALIVE, encode_event
from accord.mcp.protocol.params import RequestId
from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.answers import EVENT_STREAM, OK, notification, restated, status_of
from accord.mcp.server.http.endpoint_state import EndpointState
from accord.mcp.server.http.gate import McpHead
from accord.mcp.server.link import LINK
from accord.mcp.server.principal import Principal
from accord.mcp.server.session import Session
from accord.transports.web.app import Exchange, Stream

T = TypeVar("T")


class StatelessCall(Struct, eq=False):
    """A request in flight; implements `Source` and `ClientLink`."""

    _endpoint: EndpointState
    _head: McpHead
    _exchange: Exchange
    _id: Id | UnsetType
    principal: Principal | None
    session: Session | None = None
    _stream: Stream | None = None
    _running: Cancellable | None = None
    _over: bool = False
    _beaten: bool = False
    _ends: list[Callable[[], None]] | None = None

    def begin(self, answer: bytes | None | Cancellable) -> None:
        """Take the dispatcher's answer or running call."""
        if type(answer) is bytes or answer is None or type(answer) is Refused:
            self.answer(answer)
        else:
            self._running = cast(Cancellable, answer)
            self._exchange.on_gone = self.cancel_by_disconnect
            self._endpoint.pulse.add(self)

    # The dispatcher's callbacks: see `Source`

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(
            method,
            id,
            channel=self._exchange.channel,
            headers=self._head.request.fields,
            state={LINK: self},
        )

    def answer(self, data: bytes | None) -> None:
        if self._over:
            return
        self._over = True
        head = self._head
        if self._running is not None:
            self._endpoint.pulse.discard(self)
        if self._stream is not None:
            if data is not None:
                self._stream.write(encode_event(data))
            self._stream.close()
        elif data is None:
            self._exchange.reply(b"", status=202, headers=head.lines)
        else:
            status = status_of(data, self._id, Era.STATELESS)
            lines = head.json
            if self.principal is not None:
                lines = self._endpoint.lines_for(self.principal, lines)
            if status is OK:
                self._exchange.reply(data, headers=lines)
            else:
                told = restated(data, self._id)
                self._endpoint.send_json(self._exchange, told, status, lines)
        self._running = None
        if self._ends is not None:
            self._end()

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("only requests are dispatched")

    # What the handler can do: see `Link`

    def notify(self, method: str, params: Any) -> None:
        if not self._over:
            self._open().write(encode_event(notification(method, params)))

    def announce(self, method: str, params: Any) -> None:
        """Do nothing: clients listen by a request of their own."""

    def at_end(self, callback: Callable[[], None]) -> None:
        if self._over:
            callback()
        elif self._ends is None:
            self._ends = [callback]
        else:
            self._ends.append(callback)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        raise own_error("capability_not_supported", "in this version servers send no requests")

    def cancel(self, id: RequestId) -> None:
        """Do nothing: only closing its stream cancels a request.

        2026-07-28, Streamable HTTP.
        """

    def close_stream(self) -> None:
        """Do nothing: a stream of this era cannot be resumed."""

    # The stream

    def beat(self) -> None:
        """Send a keep-alive, by a stream once the answer is slow.

        Proxies and clients give up on silent connections.
        """
        if self._beaten:
            self._open().write(KEEP_ALIVE)
        self._beaten = True

    def _open(self) -> Stream:
        if self._stream is None:
            lines = self._endpoint.lines_for(self.principal, EVENT_STREAM + self._head.lines)
            self._stream = self._exchange.stream(headers=lines)
        return self._stream

    def cancel_by_disconnect(self) -> None:
        """Cancel the request, because its stream was closed.

        2026-07-28, Streamable HTTP.
        """
        if self._over:
            return
        self._over = True
        self._endpoint.pulse.discard(self)
        if self._running is not None:
            self._running.cancel()
        self._end()

    def _end(self) -> None:
        self._running = None
        ends, self._ends = self._ends, None
        for callback in ends or ():
            callback()
