"""Options of connections and listeners, the listener interface, and a shared memory budget.

The budget limits the memory of incoming messages over all connections of a server.
"""

from __future__ import annotations

import inspect
import os
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypedDict, get_args

from msgspec import Struct

from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.protocol.channel import KIB, Channel, Limits, ServerLimits
from accord.jsonrpc.protocol.session import IdKind
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.transports.pages import Pages

if TYPE_CHECKING:
    from accord.transports.http.replies import Reply
    from accord.transports.urls import WebAddress


MAX_BUFFERED_BYTES: Final = ServerLimits().max_buffered_bytes
"""Default limit in bytes on the memory for incoming messages of one server."""
SMALL_BYTES: Final = 16 * KIB
"""Messages up to this size are not counted in a memory budget, and never refused because of it. So
users can sign in even if the budget is used up. The limit on connections limits their memory."""
ANONYMOUS_FRACTION: Final = 4
"""Unauthenticated senders share the part 1/n of a memory budget, where n is this number."""


class MemoryBudget:
    """A limit on the bytes that the connections of one server hold together.

    `limit` is None for no limit. A message that is the only one with a reservation is never
    refused, so that every message within the limit for single messages can be received.
    """

    __slots__ = ("_parent", "held", "limit")

    def __init__(self, limit: int | None, *, parent: MemoryBudget | None = None) -> None:
        self.limit = limit
        self.held = 0
        """Number of bytes reserved."""
        self._parent = parent

    def part(self, fraction: int) -> MemoryBudget:
        """Return a budget whose limit is this limit divided by `fraction`.

        Its reservations also count in this budget.
        """
        return MemoryBudget(None if self.limit is None else self.limit // fraction, parent=self)

    def has_room(self, more: int, mine: int) -> bool:
        """Return whether a message that has reserved `mine` bytes can reserve `more` bytes."""
        if self.limit is not None and self.held + more > self.limit and self.held > mine:
            return False
        return self._parent is None or self._parent.has_room(more, mine)

    def add(self, more: int) -> None:
        self.held += more
        if self._parent is not None:
            self._parent.add(more)


class Reservation:
    """The bytes of a budget that one message has reserved.

    They are released with the last reference to this object at the latest.
    """

    __slots__ = ("_budget", "size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.size = 0

    def __del__(self) -> None:
        self.release()

    def resize(self, size: int) -> bool:
        """Change the reservation to `size` bytes; return True if they fit.

        If they do not fit, release the reservation and return False. Up to `SMALL_BYTES` nothing is
        reserved.
        """
        if size <= SMALL_BYTES:
            size = 0
        more = size - self.size
        if more > 0 and not self._budget.has_room(more, self.size):
            self.release()
            return False
        if more:
            self._budget.add(more)
            self.size = size
        return True

    def release(self) -> None:
        """Free the reserved bytes."""
        if self.size:
            self._budget.add(-self.size)
            self.size = 0


Accept: TypeAlias = Callable[[Channel], None]
"""Called with each new connection once it can carry messages. It must start the channel."""


class Listener(Protocol):
    """A server that accepts connections at one address."""

    @property
    def url(self) -> str:
        """URL to connect to, with the real port even if port 0 was requested."""

    @property
    def connections(self) -> int:
        """Number of open connections."""

    async def close(self) -> None:
        """Stop accepting connections.

        Open connections belong to those who accepted them, and stay open.
        """


Framing = Literal["newline", "content-length"]
Stderr: TypeAlias = Literal["log", "inherit", "discard"] | Callable[[str], None]
"""Destination of a child's stderr: the log `accord.process`, this process's own stderr, nowhere, or
a function that gets each line."""
Verdict: TypeAlias = "Mapping[str, Any] | Reply"
"""Result of `Admit`: members to add to the connection's `info.details`, or the reply that refuses
the client."""
Admit: TypeAlias = Callable[[str, Mapping[str, str]], "Verdict | Awaitable[Verdict]"]
"""Decides whether a client may connect, by the target and the headers of its handshake."""

Resolve: TypeAlias = "Callable[[WebAddress], Awaitable[Sequence[str]]]"
"""Resolves a host to IP addresses, the preferred one first. Raises TransportError for a host that
must not be contacted, and OSError for an unknown one."""


class Options(Struct, frozen=True, kw_only=True):
    """Options for connecting to or listening on a URL. Each transport reads those it supports."""

    framing: Framing = "newline"
    """Byte streams: how messages are delimited."""
    limits: Limits = Limits()
    server_limits: ServerLimits = ServerLimits()
    tls: ssl.SSLContext | None = None
    """Certificates; a client without one uses the system's, a TLS server needs one."""
    connect_seconds: float = 10.0
    """Clients: timeout for connecting, handshakes included."""
    headers: Mapping[str, str] = {}
    """HTTP and WebSocket clients: headers to send with every request or handshake."""
    outgoing_headers: Callable[[], Mapping[str, str]] | None = None
    """HTTP clients: called for further headers for every message, in the sender's context, as with
    `accord.telemetry.tracing.trace_headers`."""
    origins: tuple[str, ...] | None = None
    """HTTP and WebSocket servers: the allowed `Origin` headers. None allows requests without one
    and those whose origin is the server's own host; `("*",)` allows all."""
    answer_headers: Mapping[str, str] = {}
    """HTTP servers: header fields added to every response that does not set them itself."""
    admit: Admit | None = None
    """WebSocket servers: called for every valid handshake."""
    pages: Pages = {}
    """HTTP servers: pages for GET, by their path relative to the endpoint."""
    ping_seconds: float | None = 20.0
    """WebSocket: interval between pings; if the other end stays silent for another interval, the
    connection is cut. None never pings."""
    reuse_port: bool = False
    """TCP-based servers: let several processes listen on the same port (SO_REUSEPORT)."""
    backlog: int = 1024
    env: Mapping[str, str] | None = None
    """Child processes: all their environment variables; None inherits those of this process."""
    cwd: str | os.PathLike[str] | None = None
    """Child processes: working directory; None for that of this process."""
    stderr: Stderr = "inherit"
    exit_seconds: float = 2.0
    """Child processes: time to exit after their stdin is closed, before SIGTERM."""
    terminate_seconds: float = 2.0
    """Child processes: time to exit after SIGTERM, before SIGKILL."""
    pool_size: int = 16
    """HTTP clients: maximum number of connections open at once or kept alive."""
    resolve: Resolve | None = None
    """HTTP clients: name resolution in place of the system's. Only the addresses that it returns
    are connected to."""

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown framing or destination of stderr."""
        framings, targets = get_args(Framing), get_args(get_args(Stderr)[0])
        if self.framing not in framings:
            raise ValueError(f"framing is one of {', '.join(framings)}, not {self.framing!r}")
        if not callable(self.stderr) and self.stderr not in targets:
            raise ValueError(
                f"stderr is one of {', '.join(targets)} or a function, not {self.stderr!r}"
            )


class TransportOptions(TypedDict, total=False):
    """The types of the keywords that set members of `Options`.

    `limits`, `headers` and `pages` are missing; subclasses add those that their functions accept.
    """

    framing: Framing
    server_limits: ServerLimits
    tls: ssl.SSLContext | None
    connect_seconds: float
    outgoing_headers: Callable[[], Mapping[str, str]] | None
    origins: tuple[str, ...] | None
    answer_headers: Mapping[str, str]
    admit: Admit | None
    ping_seconds: float | None
    reuse_port: bool
    backlog: int
    env: Mapping[str, str] | None
    cwd: str | os.PathLike[str] | None
    stderr: Stderr
    exit_seconds: float
    terminate_seconds: float
    pool_size: int
    resolve: Resolve | None


class ChannelOptions(TransportOptions, total=False):
    """The types of the keywords that set any member of `Options`."""

    limits: Limits
    headers: Mapping[str, str]
    pages: Pages


class PeerOptions(ChannelOptions, total=False):
    """The options shared by both ends of a connection, as keywords."""

    timeout: float | None
    ids: IdKind
    threads: ThreadPool | None
    drain: float
    strict_codes: bool
    debug: bool
    observer: Observer | None


def check_options(
    function: Callable[..., Any], options: Iterable[str], known: Iterable[str]
) -> None:
    """Raise TypeError for an option that is not in `known`, suggesting the closest name.

    The parameters of `function` are suggested, too.
    """
    known = frozenset(known)
    for name in options:
        if name not in known:
            there = {*known, *inspect.signature(function).parameters} - {"options"}
            close = get_close_matches(name, sorted(there), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            called = getattr(function, "__qualname__", str(function))
            raise TypeError(f"{called}() has no option {name!r}{hint}")
