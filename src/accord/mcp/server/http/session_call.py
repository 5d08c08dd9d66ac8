"""One request of a session, and the way back to its client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Struct, UnsetType

from accord.jsonrpc.answers import Refused
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import ConnectionLostError
from accord.jsonrpc.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.running import Cancellable
from accord.mcp.protocol.headers import SESSION
from accord.mcp.protocol.params import RequestId
from accord.mcp.server.http.answers import notification
from accord.mcp.server.http.arrival import Arrival
from accord.mcp.server.http.http_session import HttpSession
from accord.mcp.server.http.post import Post
from accord.mcp.server.link import LINK
from accord.mcp.server.principal import Principal
from accord.mcp.server.session import Phase, Session

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

    def __init__(self, link: SessionLink, arrival: Arrival) -> None:
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

    _post: Post
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
        if type(answer) is bytes or answer is None or type(answer) is Refused:
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

    # What the handler can do: see `Link`

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


def context_of(arrival: Arrival, link: SessionLink, method: str, id: Id | UnsetType) -> Context:
    return Context(
        method,
        id,
        channel=arrival.exchange.channel,
        headers=arrival.head.request.fields,
        state={LINK: link},
    )
