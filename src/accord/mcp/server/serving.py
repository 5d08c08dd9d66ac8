"""Serving a server at a URL.

`http:` and `https:` use `McpEndpoint`. Other schemes use the transports of `accord.serve`, whose
connections are duplex: server and client can both send requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Unpack

from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import MIB, Limits, State
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN, Peer
from accord.mcp.server.options import (
    DUPLEX_OPTIONS,
    HTTP_OPTIONS,
    LISTENER_OPTIONS,
    McpListenOptions,
    McpServeOptions,
    ServedServer as Serving,
)
from accord.mcp.server.session import Principal
from accord.transports.connect import known_scheme
from accord.transports.options import Listener, Options, check_options
from accord.transports.serve import run_until_stopped, serve as serve_router
from accord.transports.sockets import close_listener

if TYPE_CHECKING:
    from accord.mcp.server.auth.authenticator import Authenticator, Verifier
    from accord.mcp.server.core import ServableServer
    from accord.mcp.server.http.endpoint import McpEndpoint
    from accord.mcp.server.server_state import ServerState
    from accord.transports.serve import Server as ServedRouter

MAX_MESSAGE_BYTES: Final = {
    "stdio": 10 * MIB,
    "tcp": 100 * MIB,
    "tls": 100 * MIB,
    "unix": 100 * MIB,
    "ws": 50 * MIB,
    "wss": 50 * MIB,
    "http": 50 * MIB,
    "https": 50 * MIB,
}
"""The maximum size of a received message, by scheme."""
STDIO_DRAIN: Final = 0.5
"""Seconds for running handlers to finish after the end of stdin: a server over stdio must exit
within a second."""

WITH_HEADERS: Final = frozenset(("http", "https", "ws", "wss"))
"""The schemes with HTTP headers, in which a client can present a token."""
LOCAL: Final = frozenset(("stdio", "memory"))
"""The schemes of local servers, which have a single client, the one that started the server."""


class serve:  # noqa: N801 - reads as the verb it is: `async with serve(server, url)`
    """Serve `server` at `url`.

    Use it as `async with serve(…) as serving`, or await it. URLs are those of `accord.serve`. Over
    HTTP `options` are those of `McpEndpoint` and of the listener (`server_limits`, `tls`,
    `reuse_port`, `backlog`), else those of `accord.serve`.

    `auth` replaces the server's own authentication, over HTTP and WebSocket, and checks the
    headers of a request or handshake. `principal` is the caller of all requests over a transport
    without headers, such as the user who starts a server over stdio. Raises `ConnectError` if the
    address cannot be listened on, and ValueError for `auth` or `principal` on a transport that does
    not support it.
    """

    def __init__(
        self,
        server: ServableServer,
        url: str,
        *,
        drain: float | None = None,
        limits: Limits | None = None,
        auth: Authenticator | Verifier | None = None,
        principal: Principal | None = None,
        **options: Unpack[McpListenOptions],
    ) -> None:
        self._server = server
        self._url = url
        self._scheme = known_scheme(url)
        over_http = self._scheme in ("http", "https")
        check_options(type(self), options, HTTP_OPTIONS if over_http else DUPLEX_OPTIONS)
        self._limits = limits_for(self._scheme, limits)
        if drain is None:
            drain = STDIO_DRAIN if self._scheme == "stdio" else DEFAULT_DRAIN
        self._drain = drain
        self._auth = server.auth if auth is None else auth
        self._principal = principal
        if self._scheme in WITH_HEADERS:
            if principal is not None:
                raise ValueError(f"over {self._scheme}: `auth` says who calls, by their tokens")
        elif auth is not None:
            raise ValueError(f"`auth` needs headers, which {self._scheme}: has none of")
        elif server.auth is not None and principal is None and self._scheme not in LOCAL:
            raise ValueError(
                f"nobody can present a token over {self._scheme}: say by `principal` for whom all "
                "who connect call"
            )
        self._options = options
        self._serving: Serving | None = None

    def __await__(self) -> Generator[Any, None, Serving]:
        return self._serve().__await__()

    async def _serve(self) -> Serving:
        if self._scheme in ("http", "https"):
            return await self._serve_http()
        options: dict[str, Any] = dict(self._options)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._server.running())
            served = await serve_router(
                self._server.router,
                self._url,
                drain=self._drain,
                limits=self._limits,
                on_connect=self._connected,
                **self._guards(),
                **options,
            )
            return DuplexServing(self._server, served, stack.pop_all())

    async def _serve_http(self) -> Serving:
        from accord.mcp.server.http.endpoint import McpEndpoint
        from accord.transports.http.server import listen_web

        given: dict[str, Any] = dict(self._options)
        transport = {key: given.pop(key) for key in LISTENER_OPTIONS if key in given}
        endpoint = McpEndpoint(self._server, limits=self._limits, auth=self._auth, **given)
        options = Options(limits=self._limits, **transport)
        await endpoint.start()
        try:
            listener = await listen_web(self._url, endpoint, options)
        except BaseException:
            await endpoint.close(0)
            raise
        return HttpServing(endpoint, listener, self._drain)

    def _guards(self) -> dict[str, Any]:
        """Return transport options for authenticating the handshakes of connections."""
        if self._auth is None or self._scheme not in WITH_HEADERS:
            return {}
        from accord.mcp.server.auth.bearer import admission

        return {"admit": admission(self._auth)}

    def _connected(self, peer: Peer) -> None:
        principal: Principal | None = peer.info.details.get("principal", self._principal)
        if principal is not None:
            from accord.mcp.server.auth.bearer import belong_to

            belong_to(peer, principal)
        if self._scheme == "stdio":
            self._watch(peer)

    def _watch(self, peer: Peer) -> None:
        """Close the server when the connection ends, because stdio has only one."""

        def changed(state: State, _error: object) -> None:
            if state in (State.CLOSING, State.CLOSED):
                self._server.closing.set()

        peer.observe(changed)

    async def __aenter__(self) -> Serving:
        self._serving = await self._serve()
        return self._serving

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._serving is not None
        await self._serving.close()


class DuplexServing:
    """A running server on a transport with connections that carry messages both ways."""

    def __init__(self, server: ServerState, served: ServedRouter, living: AsyncExitStack) -> None:
        self._server = server
        self._served = served
        self._living = living

    @property
    def url(self) -> str:
        return self._served.url

    async def close(self, *, drain: float | None = None) -> None:
        self._server.closing.set()
        await self._served.close(drain=drain)
        await self._living.aclose()

    async def wait_closed(self) -> None:
        await self._served.wait_closed()


class HttpServing:
    """A running server at an HTTP address."""

    def __init__(self, endpoint: McpEndpoint, listener: Listener, drain: float) -> None:
        self.endpoint = endpoint
        self._listener = listener
        self._drain = drain
        self._closing: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()

    @property
    def url(self) -> str:
        return self._listener.url

    @property
    def connections(self) -> int:
        return self._listener.connections

    async def close(self, *, drain: float | None = None) -> None:
        if self._closing is None:
            seconds = self._drain if drain is None else drain
            self._closing = asyncio.get_running_loop().create_task(self._close(seconds))
        await asyncio.shield(self._closing)

    async def _close(self, drain: float) -> None:
        try:
            await close_listener(self._listener, self.endpoint.close(drain))
        finally:
            self._closed.set()

    async def wait_closed(self) -> None:
        await self._closed.wait()


def run(
    server: ServableServer,
    url: str,
    *,
    on_listen: Callable[[Serving], None] | None = None,
    **options: Unpack[McpServeOptions],
) -> None:
    """Serve until SIGINT, SIGTERM or, over stdio, the end of stdin.

    Uses uvloop if installed.
    """
    run_until_stopped(lambda: serve(server, url, **options), on_listen)


def limits_for(scheme: str, limits: Limits | None) -> Limits:
    """Return `limits`, or the default limits of the scheme if `limits` is None."""
    if limits is not None:
        return limits
    most = MAX_MESSAGE_BYTES.get(scheme, Limits().max_message_bytes)
    queued = max(Limits().max_queued_bytes, most or 0)
    return replace(Limits(), max_message_bytes=most, max_queued_bytes=queued, max_in_flight=10_000)
