"""Requests without a session: the stateless era, and plain JSON-RPC.

A stateless request is answered by JSON, or by a stream once its handler sends something before the
answer (2026-07-28, Streamable HTTP).

Plain JSON-RPC is for `curl` and programs without MCP. Such a request states no version and belongs
to no session. It is served like a request of the handshake era after the handshake, and answered by
JSON only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.errors import ConnectionLostError, own_error
from accord.jsonrpc.protocol.framing import KEEP_ALIVE, encode_event
from accord.jsonrpc.protocol.messages import (
    Failure,
    Id,
    Invalid,
    InvalidMessageReply,
    Message,
    Notification,
    Request,
    Success,
)
from accord.jsonrpc.runtime.requests import Cancellable
from accord.mcp.protocol.messages import RequestId
from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.checks import AdmittedHttpRequest, McpHead
from accord.mcp.server.http.endpoint_state import EndpointState
from accord.mcp.server.http.responses import EVENT_STREAM, OK, notification, restated, status_of
from accord.mcp.server.session import LINK, Phase, Principal, Session
from accord.transports.http.web_app import Exchange, Stream

T = TypeVar("T")


class StatelessCall(Struct, eq=False):
    """A stateless request in flight; implements `Source` and `ClientLink`."""

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
        """Store the dispatcher's running call, or reply if the answer is ready."""
        if type(answer) is bytes or answer is None or type(answer) is InvalidMessageReply:
            self.answer(answer)
        else:
            self._running = cast(Cancellable, answer)
            self._exchange.on_gone = self.cancel_by_disconnect
            self._endpoint.pulse.add(self)

    # Methods of `Source`

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
                response = restated(data, self._id)
                self._endpoint.send_json(self._exchange, response, status, lines)
        self._running = None
        if self._ends is not None:
            self._end()

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("only requests are dispatched")

    # Methods of `ClientLink`

    def notify(self, method: str, params: Any) -> None:
        if not self._over:
            self._open().write(encode_event(notification(method, params)))

    def announce(self, method: str, params: Any) -> None:
        """Do nothing: clients of this era listen by `subscriptions/listen` requests."""

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
        """Do nothing: clients of this era cancel no request by a message.

        They close the request's stream instead (2026-07-28, Streamable HTTP).
        """

    def close_stream(self) -> None:
        """Do nothing: a stream of this era cannot be resumed."""

    # The stream

    def beat(self) -> None:
        """Send a keep-alive; switch to a stream for it if the answer takes long.

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
        """Cancel the request, because the client closed its stream.

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


WITH_SESSION: Final = frozenset(
    ("initialize", "resources/subscribe", "resources/unsubscribe", "logging/setLevel")
)
"""Methods that begin a session, or are meaningless without one."""


def is_plain(head: McpHead, method: str) -> bool:
    """Return whether a request is plain JSON-RPC: without version, session or handshake."""
    return head.session_id is None and head.version is None and method not in WITH_SESSION


class PlainRpc:
    """The plain JSON-RPC requests at one endpoint."""

    def __init__(self, endpoint: EndpointState) -> None:
        self._endpoint = endpoint

    def take(
        self, arrival: AdmittedHttpRequest, id: Id | UnsetType, method: str, params: Any
    ) -> None:
        """Serve a request or a notification."""
        if id is UNSET:
            self._hear(arrival, method, params)
            arrival.accept()
        else:
            PlainPost(self._endpoint, arrival, [Request(id, method, params)], is_batch=False)

    def take_batch(self, arrival: AdmittedHttpRequest, messages: Sequence[Message]) -> None:
        requests: list[Request | bytes] = []
        used: set[Id] = set()
        for message in messages:
            match message:
                case Request(id=id):
                    refused = self._endpoint.refused_id(id, used.__contains__)
                    requests.append(message if refused is None else refused)
                    used.add(id)
                case Notification(method=method, params=params):
                    self._hear(arrival, method, params)
                case Invalid(response=False):
                    requests.append(self._endpoint.refused(message))
                case _:
                    pass  # nobody was asked anything
        if requests:
            PlainPost(self._endpoint, arrival, requests, is_batch=True)
        else:
            arrival.accept()

    def _hear(self, arrival: AdmittedHttpRequest, method: str, params: Any) -> None:
        call = PlainCall(arrival, lambda _data: None)
        self._endpoint.dispatcher.serve(UNSET, method, params, call)


class PlainPost:
    """The response to a POST of plain JSON-RPC, sent when all requests are answered."""

    __slots__ = ("_answers", "_arrival", "_endpoint", "_id", "_is_batch", "_waiting")

    def __init__(
        self,
        endpoint: EndpointState,
        arrival: AdmittedHttpRequest,
        requests: Sequence[Request | bytes],
        *,
        is_batch: bool,
    ) -> None:
        self._endpoint = endpoint
        self._arrival = arrival
        self._is_batch = is_batch
        self._id: Id | UnsetType = UNSET
        self._answers: list[bytes | None] = [None] * len(requests)
        self._waiting = len(requests)
        for place, request in enumerate(requests):
            if isinstance(request, bytes):
                self._answered(place, request)
            else:
                self._id = request.id
                self._serve(place, request)

    def _serve(self, place: int, request: Request) -> None:
        call = PlainCall(self._arrival, lambda data: self._answered(place, data))
        answer = self._endpoint.dispatcher.serve(request.id, request.method, request.params, call)
        if isinstance(answer, bytes | InvalidMessageReply) or answer is None:
            call.answer(answer)

    def _answered(self, place: int, data: bytes | None) -> None:
        self._answers[place] = data
        self._waiting -= 1
        if self._waiting:
            return
        exchange, head = self._arrival.exchange, self._arrival.head
        answers = [each for each in self._answers if each is not None]
        lines = self._endpoint.lines_for(self._arrival.principal, head.json)
        if self._is_batch:
            exchange.reply(b"[" + b",".join(answers) + b"]", headers=lines)
        elif answers:
            status = status_of(answers[0], self._id, Era.HANDSHAKE)
            self._endpoint.send_json(exchange, answers[0], status, lines)
        else:
            self._arrival.accept()


class PlainCall:
    """A plain JSON-RPC request in flight; implements `Source` and `ClientLink`."""

    __slots__ = ("_arrival", "_ends", "_take", "principal", "session")

    def __init__(self, arrival: AdmittedHttpRequest, take: Callable[[bytes | None], None]) -> None:
        self._arrival = arrival
        self._take: Callable[[bytes | None], None] | None = take
        self._ends: list[Callable[[], None]] = []
        self.principal: Principal | None = arrival.principal
        self.session: Session | None = Session()
        self.session.phase = Phase.READY

    def context(self, method: str, id: Id | UnsetType) -> Context:
        arrival = self._arrival
        return Context(
            method,
            id,
            channel=arrival.exchange.channel,
            headers=arrival.head.request.fields,
            state={LINK: self},
        )

    def answer(self, data: bytes | None) -> None:
        take, self._take = self._take, None
        if take is not None:
            take(data)
        ends, self._ends = self._ends, []
        for callback in ends:
            callback()

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("only requests are dispatched")

    # Methods of `ClientLink`

    def notify(self, method: str, params: Any) -> None:
        """Drop the notification: only the answer reaches the client."""

    announce = notify

    def at_end(self, callback: Callable[[], None]) -> None:
        if self._take is None:
            callback()
        else:
            self._ends.append(callback)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        raise ConnectionLostError("a client without a session cannot be asked")

    def cancel(self, id: RequestId) -> None:
        """Do nothing: plain requests cannot be cancelled by id."""

    def close_stream(self) -> None:
        """Do nothing: there is no stream."""
