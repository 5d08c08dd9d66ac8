"""Types of the keyword options of `Server.serve`, `run`, `asgi` and `proxy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypedDict

from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.session import IdKind
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.transports.options import TransportOptions

if TYPE_CHECKING:
    from accord.mcp.client.inbox import ElicitationMode, ProgressHandler
    from accord.mcp.server.auth.authenticator import Authenticator, Verifier
    from accord.mcp.server.http.endpoint_state import EventStore
    from accord.mcp.server.http.sessions import SessionLimits, Sessions
    from accord.mcp.server.session import Principal
    from accord.transports.http.heads import WebRequest
    from accord.transports.http.replies import Reply


class ServedServer(Protocol):
    """A server that is running."""

    @property
    def url(self) -> str:
        """The URL to connect to, with the real port if 0 was requested."""

    async def close(self, *, drain: float | None = None) -> None:
        """Stop listening, let handlers finish for up to `drain` seconds, close connections."""

    async def wait_closed(self) -> None:
        """Wait until the server has ended; over stdio it ends at the end of stdin."""


class _EndpointOptions(TypedDict, total=False):
    session_limits: SessionLimits | None
    hosts: tuple[str, ...] | None
    sessions: Sessions | None
    events: EventStore | None
    handshake: bool
    batches: bool
    plain_refusals: bool
    plain: bool
    old_sse: bool
    shared: str | None
    pulse_seconds: float
    pages: Mapping[str, Callable[[WebRequest], Reply]] | None
    threads: ThreadPool | None
    debug: bool
    observer: Observer | None


class McpAsgiOptions(_EndpointOptions, total=False):
    """Keyword options of `McpEndpoint`."""

    origins: tuple[str, ...] | None
    limits: Limits
    auth: Authenticator | Verifier | None


class McpListenOptions(_EndpointOptions, TransportOptions, total=False):
    """Keyword options of endpoints over HTTP and of the other transports."""

    timeout: float | None
    ids: IdKind
    strict_codes: bool


class McpServeOptions(McpListenOptions, total=False):
    """Keyword options of `serve`."""

    drain: float | None
    limits: Limits | None
    auth: Authenticator | Verifier | None
    principal: Principal | None


class McpRunOptions(McpServeOptions, total=False):
    """Keyword options of `run`."""

    on_listen: Callable[[ServedServer], None] | None


class ProxyOptions(TransportOptions, total=False):
    """Keyword options of a proxy's client."""

    title: str
    mode: Literal["auto", "modern", "legacy"]
    protocol_version: str | None
    headers: Mapping[str, str] | None
    elicitation_modes: Sequence[ElicitationMode]
    progress: ProgressHandler | None
    timeout: float | None
    longest: float | None
    probe_seconds: float
    cache: bool


LISTENER_OPTIONS: Final = ("server_limits", "tls", "reuse_port", "backlog")
"""The transport options for HTTP listeners."""
HTTP_OPTIONS: Final = frozenset((*_EndpointOptions.__annotations__, "origins", *LISTENER_OPTIONS))
DUPLEX_OPTIONS: Final = frozenset(
    (
        *TransportOptions.__annotations__,
        *("timeout", "ids", "strict_codes", "threads", "debug", "observer"),
    )
)
