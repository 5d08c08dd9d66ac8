"""Serve a router at a URL."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from dataclasses import astuple
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar, Unpack

from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Channel, State
from accord.jsonrpc.protocol.errors import ConnectError, TransportError
from accord.jsonrpc.protocol.session import IdKind, Statistics
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN, DEFAULT_TIMEOUT, Peer
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.transports.connect import known_scheme
from accord.transports.options import (
    Accept,
    ChannelOptions,
    Listener,
    Options,
    PeerOptions,
    check_options,
)
from accord.transports.sockets import close_listener

log = logging.getLogger("accord.transports")

GC_THRESHOLDS: Final = (10_000, 20, 50)
"""Thresholds of the garbage collector. The defaults are too low for a server: it makes many objects
and few reference cycles."""


class Server:
    """A router being served. Get one by `async with serve(router, url) as server`."""

    def __init__(
        self,
        router: Router,
        options: Options,
        *,
        drain: float,
        on_connect: Callable[[Peer], None] | None,
        peer_options: dict[str, Any],
    ) -> None:
        self._router = router
        self._options = options
        self._drain = drain
        self._on_connect = on_connect
        self._peer_options = peer_options
        self._listener: Listener | None = None
        self._dispatcher: Dispatcher | None = None
        self._closed = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None
        self._past = Statistics()
        """The summed statistics of closed connections; over HTTP, of all connections."""
        self.url = ""
        """URL to connect to, with the real port even if port 0 was requested."""
        self.peers: set[Peer] = set()
        """The peers of all open connections; always empty over HTTP."""

    @property
    def connections(self) -> int:
        return len(self.peers) if self._listener is None else self._listener.connections

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for incoming messages: see `ServerLimits.max_buffered_bytes`."""
        return getattr(self._listener, "buffered_bytes", 0)

    @property
    def in_flight(self) -> int:
        """Number of incoming calls in flight, on all connections."""
        if self._dispatcher is not None:
            return self._dispatcher.in_flight
        return sum(peer.in_flight for peer in self.peers)

    @property
    def statistics(self) -> Statistics:
        """Totals over all connections, closed ones included."""
        return _total(self._past, *(peer.statistics for peer in self.peers))

    async def _start(self, url: str) -> None:
        match known_scheme(url):
            case "http" | "https":
                await self._start_http(url)
            case "stdio":
                await self._start_stdio(url)
            case _:
                self._listener = await listen_channel(url, self._accept, self._options)
                self.url = self._listener.url

    async def _start_http(self, url: str) -> None:
        from accord.transports.http.server import listen_http

        keys = ("threads", "strict_codes", "debug", "observer")
        options = {key: self._peer_options[key] for key in keys}
        self._dispatcher = Dispatcher(
            self._router,
            limits=self._options.limits,
            statistics=self._past,
            shared=True,
            **options,
        )
        self._listener = await listen_http(url, self._dispatcher, self._options)
        self.url = self._listener.url

    async def _start_stdio(self, url: str) -> None:
        """Serve over stdin and stdout, the only connection; the server ends with it."""
        from accord.transports.stdio import open_stdio

        self.url = url
        self._accept(await open_stdio(self._options))
        for peer in self.peers:
            peer.observe(lambda state, _error: self._ended() if state is State.CLOSED else None)

    def _ended(self) -> None:
        if self._closing is None:
            self._closed.set()

    def _accept(self, channel: Channel) -> None:
        peer = Peer(
            channel,
            self._router,
            limits=self._options.limits,
            drain=self._drain,
            **self._peer_options,
        )
        self.peers.add(peer)

        def forget(state: State, _error: TransportError | None) -> None:
            if state is State.CLOSED:
                self.peers.discard(peer)
                self._past = _total(self._past, peer.statistics)

        peer.observe(forget)
        if self._on_connect is not None:
            try:
                self._on_connect(peer)
            except Exception:
                log.exception("on_connect failed; the connection is closed")
                peer.abort()

    async def close(self, *, drain: float | None = None) -> None:
        """Stop listening, let handlers finish for up to `drain` seconds, then disconnect."""
        if self._closing is None:
            seconds = self._drain if drain is None else drain
            self._closing = asyncio.get_running_loop().create_task(self._close(seconds))
        await asyncio.shield(self._closing)

    async def _close(self, drain: float) -> None:
        try:
            if self._dispatcher is not None and self._listener is not None:
                await close_listener(self._listener, self._dispatcher.drain(drain))
            elif self._listener is not None:
                await self._listener.close()
            await asyncio.gather(*(peer.close(drain=drain) for peer in list(self.peers)))
        finally:
            self._closed.set()

    async def wait_closed(self) -> None:
        """Wait until the server is closed; over stdio that happens at the end of stdin."""
        await self._closed.wait()


class ServeOptions(PeerOptions, total=False):
    """The options of `serve`, as keywords."""

    on_connect: Callable[[Peer], None] | None


class serve:  # noqa: N801 - reads as the verb it is: `async with serve(router, url) as server`
    """Serve `router` at `url`: use it as `async with serve(…) as server`, or await it.

    URLs as in `connect`; port 0 picks a free port, which `server.url` then contains. `on_connect`
    is called with each new peer, by which the server can call that client. `observer` is notified
    of every call; observers for metrics and tracing are in `accord.telemetry`. `options` are those
    of `Options`. Raises `ConnectError` when the URL cannot be listened on.
    """

    def __init__(
        self,
        router: Router,
        url: str,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        ids: IdKind = "counter",
        threads: ThreadPool | None = None,
        drain: float = DEFAULT_DRAIN,
        strict_codes: bool = False,
        debug: bool = False,
        observer: Observer | None = None,
        on_connect: Callable[[Peer], None] | None = None,
        **options: Unpack[ChannelOptions],
    ) -> None:
        check_options(type(self), options, ChannelOptions.__annotations__)
        self._url = url
        self._make: Callable[[], Server] = lambda: Server(
            router,
            Options(**options),
            drain=drain,
            on_connect=on_connect,
            peer_options={
                "timeout": timeout,
                "ids": ids,
                "threads": threads,
                "strict_codes": strict_codes,
                "debug": debug,
                "observer": observer,
            },
        )
        self._server: Server | None = None

    def __await__(self) -> Generator[Any, None, Server]:
        return self._serve().__await__()

    async def _serve(self) -> Server:
        server = self._make()
        await server._start(self._url)  # noqa: SLF001 - `serve` is the way to make a server
        return server

    async def __aenter__(self) -> Server:
        self._server = await self._serve()
        return self._server

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        await self._server.close()


def _total(*statistics: Statistics) -> Statistics:
    return Statistics(*map(sum, zip(*map(astuple, statistics), strict=True)))


async def listen_channel(url: str, accept: Accept, options: Options) -> Listener:
    """Listen at a URL of a transport whose connections are channels.

    These are all transports but HTTP and stdio. Raises ConnectError if the URL cannot be listened
    on.
    """
    match known_scheme(url):
        case "memory":
            from accord.transports.memory import listen_memory

            return await listen_memory(url, accept, options)
        case "tcp" | "tls" | "unix":
            from accord.transports.stream.endpoints import listen_stream

            return await listen_stream(url, accept, options)
        case "ws" | "wss":
            from accord.transports.websocket.endpoints import listen_websocket

            return await listen_websocket(url, accept, options)
        case "http" | "https" | "stdio" as scheme:
            raise ConnectError(
                f"{scheme} has no connections to listen for",
                recoverable=False,
                advice="Use tcp, tls, unix, ws, wss or memory.",
            )
        case scheme:
            from accord.transports.connect import transport_of

            return await transport_of(scheme).listen(url, accept, options)


def run(
    router: Router,
    url: str,
    *,
    on_listen: Callable[[Server], None] | None = None,
    **options: Unpack[ServeOptions],
) -> None:
    """Serve until SIGINT, SIGTERM or, over stdio, the end of stdin. Uses uvloop if installed."""
    run_until_stopped(lambda: serve(router, url, **options), on_listen)


class Closable(Protocol):
    """A server that may end on its own."""

    async def wait_closed(self) -> None: ...


C = TypeVar("C", bound=Closable)


def run_until_stopped(
    begin: Callable[[], AbstractAsyncContextManager[C]], on_listen: Callable[[C], None] | None
) -> None:
    """Run the server that `begin` returns until SIGINT, SIGTERM or its own end.

    Uses uvloop if installed.
    """

    async def main() -> None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        async with begin() as serving:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop.set)
            if on_listen is not None:
                on_listen(serving)
            gc.collect()
            # Objects made so far live as long as the process: exempt them from later collections.
            gc.freeze()
            gc.set_threshold(*GC_THRESHOLDS)
            ended = [loop.create_task(stop.wait()), loop.create_task(serving.wait_closed())]
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.cancel()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's event loop factory if it is installed."""
    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.new_event_loop
    return None
