"""The settings of a connection or a listener that its transport reads."""

from __future__ import annotations

import inspect
import os
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from msgspec import Struct

from accord.jsonrpc.ids import IdKind
from accord.jsonrpc.limits import Limits, ServerLimits
from accord.jsonrpc.observer import Observer
from accord.jsonrpc.threads import ThreadPool
from accord.transports.pages import Pages

if TYPE_CHECKING:
    from accord.transports.http.replies import Reply
    from accord.transports.web_address import WebAddress

Framing = Literal["newline", "content-length"]
Stderr: TypeAlias = Literal["log", "inherit", "discard"] | Callable[[str], None]
"""Where a child's stderr goes: to the log `accord.process`, to this process's own, nowhere,
or line by line to a function."""
Verdict: TypeAlias = "Mapping[str, Any] | Reply"
"""What is said of a client that would like to connect: more for the connection's
`info.details`, or what it is refused with."""
Admit: TypeAlias = Callable[[str, Mapping[str, str]], "Verdict | Awaitable[Verdict]"]
"""Decides whether a client may connect, by the target and the headers of its handshake."""

Resolve: TypeAlias = "Callable[[WebAddress], Awaitable[Sequence[str]]]"
"""Finds the IP addresses of a host, the best first. Raises TransportError for one that must not
be asked, and OSError for one that is unknown."""


class Options(Struct, frozen=True, kw_only=True):
    """How a URL is connected to or listened on. Each transport reads what concerns it."""

    framing: Framing = "newline"
    """Byte streams: how messages are told apart."""
    limits: Limits = Limits()
    server_limits: ServerLimits = ServerLimits()
    tls: ssl.SSLContext | None = None
    """Certificates; a client without one uses the system's, a TLS server needs one."""
    connect_seconds: float = 10.0
    """Clients: how long connecting may take, handshakes included."""
    headers: Mapping[str, str] = {}
    """HTTP and WebSocket clients: headers to send with every request or handshake."""
    outgoing_headers: Callable[[], Mapping[str, str]] | None = None
    """HTTP clients: asked for further headers at every message, in the context of whoever sends
    it, as `accord.telemetry.tracing.trace_headers` is."""
    origins: tuple[str, ...] | None = None
    """HTTP and WebSocket servers: which `Origin` headers are let in. None lets in requests
    without one and those whose origin is the server's own host; `("*",)` lets in all."""
    answer_headers: Mapping[str, str] = {}
    """HTTP servers: header fields of every response that does not have them itself."""
    admit: Admit | None = None
    """WebSocket servers: asked about every handshake that is valid."""
    pages: Pages = {}
    """HTTP servers: pages for GET, by where they are below the endpoint's path."""
    ping_seconds: float | None = 20.0
    """WebSocket: how often the other end is pinged; silent for as long again, it is cut off.
    None never pings."""
    reuse_port: bool = False
    """TCP-based servers: let several processes listen on the same port (SO_REUSEPORT)."""
    backlog: int = 1024
    env: Mapping[str, str] | None = None
    """Child processes: all their environment variables; None for those of this process."""
    cwd: str | os.PathLike[str] | None = None
    """Child processes: where they run; None for where this process does."""
    stderr: Stderr = "inherit"
    exit_seconds: float = 2.0
    """Child processes: how long they get to leave by themselves once their stdin is closed."""
    terminate_seconds: float = 2.0
    """Child processes: how long they get after SIGTERM, before SIGKILL."""
    pool_size: int = 16
    """HTTP clients: most connections open at once, or kept for later."""
    resolve: Resolve | None = None
    """HTTP clients: looks names up in place of the system: what it found, and nothing else, is
    connected to."""

    def __post_init__(self) -> None:
        """Raise ValueError for words that mean nothing: no connection would work, or say why."""
        framings, targets = get_args(Framing), get_args(get_args(Stderr)[0])
        if self.framing not in framings:
            raise ValueError(f"framing is one of {', '.join(framings)}, not {self.framing!r}")
        if not callable(self.stderr) and self.stderr not in targets:
            raise ValueError(
                f"stderr is one of {', '.join(targets)} or a function, not {self.stderr!r}"
            )


class TransportOptions(TypedDict, total=False):
    """Most members of `Options`, as keywords: those that mean the same wherever they are given."""

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
    """All members of `Options`, as keywords."""

    limits: Limits
    headers: Mapping[str, str]
    pages: Pages


class PeerOptions(ChannelOptions, total=False):
    """What both ends of a connection can be told, as keywords."""

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
    """Raise TypeError for an option that is none of those `known`, naming the closest.

    What `function` takes itself is suggested, too.
    """
    known = frozenset(known)
    for name in options:
        if name not in known:
            there = {*known, *inspect.signature(function).parameters} - {"options"}
            close = get_close_matches(name, sorted(there), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            called = getattr(function, "__qualname__", str(function))
            raise TypeError(f"{called}() has no option {name!r}{hint}")
