"""Plain JSON-RPC: requests that belong to no session and say no version, answered by JSON alone.

For `curl` and programs that speak no MCP. Each request is served as one of the handshake era
would be whose client is long known; whatever needs a client that stays is not there for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import UNSET, UnsetType

from accord.jsonrpc.answers import Refused
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import ConnectionLostError
from accord.jsonrpc.messages import Failure, Id, Invalid, Message, Notification, Request, Success
from accord.mcp.protocol.params import RequestId
from accord.mcp.protocol.versions import Era
from accord.mcp.server.http.answers import status_of
from accord.mcp.server.http.arrival import Arrival
from accord.mcp.server.http.endpoint_state import EndpointState
from accord.mcp.server.http.gate import McpHead
from accord.mcp.server.link import LINK
from accord.mcp.server.principal import Principal
from accord.mcp.server.session import Phase, Session

T = TypeVar("T")

WITH_SESSION: Final = frozenset(
    ("initialize", "resources/subscribe", "resources/unsubscribe", "logging/setLevel")
)
"""Methods that begin a session, or are meaningless without one."""


def is_plain(head: McpHead, method: str) -> bool:
    """Return whether a request without a version has nothing else of MCP either."""
    return head.session_id is None and head.version is None and method not in WITH_SESSION


class Plain:
    """Plain JSON-RPC at one endpoint."""

    def __init__(self, endpoint: EndpointState) -> None:
        self._endpoint = endpoint

    def take(self, arrival: Arrival, id: Id | UnsetType, method: str, params: Any) -> None:
        """Serve a request or a notification."""
        if id is UNSET:
            self._hear(arrival, method, params)
            arrival.accept()
        else:
            PlainPost(self._endpoint, arrival, [Request(id, method, params)], is_batch=False)

    def take_batch(self, arrival: Arrival, messages: Sequence[Message]) -> None:
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

    def _hear(self, arrival: Arrival, method: str, params: Any) -> None:
        call = PlainCall(arrival, lambda data: None)
        self._endpoint.dispatcher.serve(UNSET, method, params, call)


class PlainPost:
    """One POST, answered when all of its requests are."""

    __slots__ = ("_answers", "_arrival", "_endpoint", "_id", "_is_batch", "_waiting")

    def __init__(
        self,
        endpoint: EndpointState,
        arrival: Arrival,
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
        if isinstance(answer, bytes | Refused) or answer is None:
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
    """A request in flight; implements `Source` and `ClientLink`."""

    __slots__ = ("_arrival", "_ends", "_take", "principal", "session")

    def __init__(self, arrival: Arrival, take: Callable[[bytes | None], None]) -> None:
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

    # What the handler can do: see `Link`

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
        """Do nothing: requests are not found by their ids."""

    def close_stream(self) -> None:
        """Do nothing: there is no stream."""
