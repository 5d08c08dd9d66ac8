"""A client's principal, its state, and the way back to it.

The state between `initialize` and the end of a session exists in the handshake era only: in the
stateless one every request repeats it. A transport stores a link under `LINK` in the state of each
request's context. A duplex connection has one link for all of its requests, made here; HTTP has
one per request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Protocol, TypeVar, get_args

from msgspec import Struct

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import State
from accord.jsonrpc.protocol.errors import TransportError
from accord.jsonrpc.runtime.calls import decode_result
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.protocol.definitions import ClientCapabilities, Implementation
from accord.mcp.protocol.messages import LogLevel, RequestId
from accord.mcp.protocol.versions import LATEST_HANDSHAKE


class Principal(Struct, frozen=True, kw_only=True):
    """An authenticated caller."""

    subject: str
    """Unique among the callers of this server."""
    client_id: str = ""
    """The application that acts for the subject."""
    scopes: frozenset[str] = frozenset()
    claims: dict[str, Any] = {}
    """The other claims of the token."""
    expires: float | None = None
    """Expiry of the token in seconds since 1970; None for unknown."""

    @property
    def key(self) -> str:
        """A stable key of the subject and its application, across renewed tokens."""
        return f"{len(self.subject)}:{self.subject}{self.client_id}"

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the token expires; None if it does not."""
        return None if self.expires is None else self.expires - time.time()

    @property
    def has_expired(self) -> bool:
        return self.expires is not None and self.expires <= time.time()


def owner_of(principal: Principal | None) -> str | None:
    """Return the owner of anything a request creates; None for an anonymous one."""
    return None if principal is None else principal.key


class Phase(Enum):
    """The progress of the handshake (2025-11-25, lifecycle)."""

    NEW = "new"
    """`initialize` has not arrived: only it and `ping` are served."""
    INITIALIZING = "initializing"
    """`initialize` is answered; `notifications/initialized` has not arrived."""
    READY = "ready"


class Session:
    """State of one client between `initialize` and the end of its session.

    Changed only by the methods of the lifecycle.
    """

    __slots__ = (
        "capabilities",
        "client_info",
        "key",
        "log_level",
        "phase",
        "running",
        "subscriptions",
        "version",
    )

    def __init__(self) -> None:
        self.phase = Phase.NEW
        self.key = ""
        """The key of everything that the session owns, such as tasks; empty until needed."""
        self.version: str = LATEST_HANDSHAKE
        self.client_info: Implementation | None = None
        self.capabilities = ClientCapabilities()
        self.log_level: LogLevel | None = None
        """The least severe level that the client wants; None until it chooses."""
        self.running = 0
        """The number of tool calls in flight."""
        self.subscriptions: set[str] = set()
        """URIs of the resources that the client subscribed to."""


_ORDER: Final = {level: rank for rank, level in enumerate(get_args(LogLevel))}


def is_wanted(level: LogLevel, least: str) -> bool:
    """Return whether a client that asked for `least` wants a message of `level`.

    An unknown `least` lets all messages through.
    """
    return _ORDER[level] >= _ORDER.get(least, 0)


T = TypeVar("T")

LINK: Final = "accord.mcp.link"


class ClientLink(Protocol):
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


def link_of(context: Context) -> ClientLink:
    """Return the link of a request, made on first use for a duplex connection."""
    link: ClientLink | None = context.state.get(LINK)
    if link is None:
        assert isinstance(context.peer, Peer)
        link = context.state[LINK] = DuplexLink(context.peer)
    return link
