"""Connect to a URL and return a peer; find transports of plugins by URL scheme."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Generator, Sequence
from types import TracebackType
from typing import Any, Unpack

from msgspec import Struct

from accord.entry_points import PluginError, find
from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Channel
from accord.jsonrpc.protocol.errors import ConnectError
from accord.jsonrpc.protocol.session import IdKind
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN, DEFAULT_TIMEOUT, Peer
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.transports.options import (
    Accept,
    ChannelOptions,
    Listener,
    Options,
    PeerOptions,
    check_options,
)
from accord.transports.reconnect import Backoff, open_reconnecting
from accord.transports.urls import scheme_of, shown

SCHEMES = ("stdio", "tcp", "tls", "unix", "ws", "wss", "http", "https", "memory")


class ConnectOptions(PeerOptions, total=False):
    """The options of `connect`, as keywords."""

    reconnect: Backoff | None


class connect:  # noqa: N801 - reads as the verb it is: `async with connect(url) as peer`
    """Connect to `target` and get a `Peer`: use it as `async with connect(…) as peer`, or await it.

    `target` is a URL (`tcp://host:port`, `tls://…`, `unix:///path`, `ws://…`, `wss://…`,
    `http://…`, `https://…`, `memory:name`), `stdio:` for this process's own stdin and stdout,
    `stdio:command args` or a list of strings for a program to start and talk to. Plugins add
    further schemes.

    The other end can call the methods of `router`. With `reconnect`, a lost connection is
    re-established. `observer` is notified of every incoming call. `options` are those of
    `Options`: `framing`, `limits`, `tls`, `headers` and so on. Raises `ConnectError`.
    """

    def __init__(
        self,
        target: str | Sequence[str],
        router: Router | None = None,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        ids: IdKind = "counter",
        reconnect: Backoff | None = None,
        threads: ThreadPool | None = None,
        drain: float = DEFAULT_DRAIN,
        strict_codes: bool = False,
        debug: bool = False,
        observer: Observer | None = None,
        **options: Unpack[ChannelOptions],
    ) -> None:
        check_options(type(self), options, ChannelOptions.__annotations__)
        self._target = target
        self._router = router
        self._options = Options(**options)
        self._reconnect = reconnect
        self._peer: Peer | None = None
        self._peer_options: dict[str, Any] = {
            "timeout": timeout,
            "ids": ids,
            "threads": threads,
            "drain": drain,
            "strict_codes": strict_codes,
            "debug": debug,
            "observer": observer,
        }

    def __await__(self) -> Generator[Any, None, Peer]:
        return self._connect().__await__()

    async def _connect(self) -> Peer:
        if self._reconnect is None:
            channel = await self._open()
        else:
            channel = await open_reconnecting(self._open, self._reconnect)
        peer = Peer(channel, self._router, limits=self._options.limits, **self._peer_options)
        abandon = getattr(channel, "abandon", None)
        if abandon is not None:  # over HTTP, closing its connection cancels an abandoned call
            peer.on_abandoned = lambda id, _method: abandon(id)
        return peer

    async def _open(self) -> Channel:
        try:
            return await open_channel(self._target, self._options)
        except ValueError as error:
            raise ConnectError(
                str(error), recoverable=False, advice="Check the URL and the options."
            ) from error

    async def __aenter__(self) -> Peer:
        self._peer = await self._connect()
        return self._peer

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._peer is not None
        await self._peer.close()


async def open_channel(target: str | Sequence[str], options: Options) -> Channel:
    """Open a channel to a URL or a command. Imports only the transport that is used."""
    if not isinstance(target, str):
        return await _open_process(list(target), options)
    match known_scheme(target):
        case "memory":
            from accord.transports.memory import open_memory

            return await open_memory(target, options)
        case "tcp" | "tls" | "unix":
            from accord.transports.stream.endpoints import open_stream

            return await open_stream(target, options)
        case "ws" | "wss":
            from accord.transports.websocket.endpoints import open_websocket

            return await open_websocket(target, options)
        case "http" | "https":
            from accord.transports.http.client import open_http

            return await open_http(target, options)
        case "stdio":
            command = shlex.split(target.partition(":")[2].removeprefix("//"))
            if command:
                return await _open_process(command, options)
            from accord.transports.stdio import open_stdio

            return await open_stdio(options)
        case scheme:
            return await transport_of(scheme).open(target, options)


async def _open_process(command: list[str], options: Options) -> Channel:
    from accord.transports.process import open_process

    return await open_process(command, options)


def known_scheme(url: str) -> str:
    """Return the scheme of `url`.

    Raises a `ConnectError` that lists the known schemes if no transport supports it.
    """
    scheme = scheme_of(url)
    if scheme not in SCHEMES and not _is_plugged(scheme):
        known = ", ".join(SCHEMES)
        raise ConnectError(
            f"{shown(url)!r} has no scheme that Accord knows ({known})",
            recoverable=False,
            advice="Write the URL with its scheme, for example tcp://127.0.0.1:7000.",
        )
    return scheme


def _is_plugged(scheme: str) -> bool:
    if not scheme:
        return False

    return plugged(scheme) is not None


class Transport(Struct, frozen=True, kw_only=True):
    """A transport of a plugin: functions that connect to its URLs and listen on them."""

    open: Callable[[str, Options], Awaitable[Channel]]
    """Connects to a URL. Raises ConnectError if that fails."""
    listen: Callable[[str, Accept, Options], Awaitable[Listener]]
    """Listens at a URL. Raises ConnectError if that fails."""


def plugged(scheme: str) -> Transport | None:
    """Return the transport that a plugin has for `scheme`; None if no plugin has one.

    Raises ConnectError if the plugin cannot be loaded.
    """
    try:
        found = find("accord.transports", scheme)
        if found is None:
            return None
        transport = found.load()
        if not isinstance(transport, Transport):
            raise found.refused(f"{found.value} is no accord.plugins.Transport")
    except PluginError as error:
        raise ConnectError(
            str(error), recoverable=False, advice="See accord plugin list, and its own page."
        ) from error
    return transport


def transport_of(scheme: str) -> Transport:
    """Return the plugin's transport for `scheme`, which `known_scheme` has found before.

    Raises ConnectError if the plugin cannot be loaded.
    """
    transport = plugged(scheme)
    assert transport is not None, "the scheme was looked up before"
    return transport
