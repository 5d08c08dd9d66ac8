"""The way back to a client while one of its requests is served.

A transport gives each request a link under `LINK` in the state of its context. A duplex
connection has one link for all of its requests, made here; HTTP has one per request, whose
notifications travel on that request's stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from accord.jsonrpc.call import decode_result
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import TransportError
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.states import State
from accord.mcp.protocol.params import RequestId
from accord.mcp.server.principal import Principal
from accord.mcp.server.session import Session

T = TypeVar("T")

LINK: Final = "accord.mcp.link"


class Link(Protocol):
    """The link to the client of a request."""

    session: Session | None
    """The client's session; None where there are none, as over HTTP in the stateless era."""
    principal: Principal | None
    """The authenticated caller; None for an anonymous one."""

    def notify(self, method: str, params: Any) -> None:
        """Send a notification that belongs to the request.

        Dropped if the client is gone.
        """

    def announce(self, method: str, params: Any) -> None:
        """Send a notification that belongs to no request."""

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the client's session or connection ends."""

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        """Send a request to the client and wait for its answer.

        The handshake era only.
        """

    def cancel(self, id: RequestId) -> None:
        """Cancel another request of the same client."""

    def close_stream(self) -> None:
        """Release the connection that waits for the answer, if it can be resumed.

        Over HTTP, in the handshake era.
        """


class DuplexLink:
    """The link of a connection that carries messages both ways."""

    __slots__ = ("_peer", "handshake_only", "principal", "session")

    def __init__(self, peer: Peer, *, handshake_only: bool = False) -> None:
        self._peer = peer
        self.session: Session | None = Session()
        self.principal: Principal | None = None
        self.handshake_only = handshake_only
        """True if requests of the stateless era are refused here."""

    def notify(self, method: str, params: Any) -> None:
        self._peer.post(method, params)

    announce = notify

    def at_end(self, callback: Callable[[], None]) -> None:
        def ended(state: State, error: TransportError | None) -> None:
            if state is State.CLOSED:
                callback()

        self._peer.observe(ended)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        call = self._peer.begin(method, params, timeout=timeout)
        result: T = decode_result(await call.answer(), into, method)
        return result

    def cancel(self, id: RequestId) -> None:
        self._peer.cancel_incoming(id)

    def close_stream(self) -> None:
        """Do nothing: the only connection stays open."""


def link_of(context: Context) -> Link:
    """Return the link of a request, made on first use for a duplex connection."""
    link: Link | None = context.state.get(LINK)
    if link is None:
        assert isinstance(context.peer, Peer)
        link = context.state[LINK] = DuplexLink(context.peer)
    return link
