"""From what a client is told to connect to, to a wire: a URL, a command, or a server in this
process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Protocol, TypeAlias, TypeGuard, runtime_checkable

from accord.jsonrpc.errors import ConnectError
from accord.jsonrpc.limits import MIB, Limits
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.router import Router
from accord.mcp.client.direct import direct_pair
from accord.mcp.client.wire import DuplexWire
from accord.transports.connect import open_channel
from accord.transports.options import Options
from accord.transports.urls import scheme_of

WEB: Final = frozenset(("http", "https"))

LARGEST: Final = {
    "stdio": 10 * MIB,
    "tcp": 100 * MIB,
    "tls": 100 * MIB,
    "unix": 100 * MIB,
    "ws": 50 * MIB,
    "wss": 50 * MIB,
    "http": 50 * MIB,
    "https": 50 * MIB,
}
"""The largest message that is taken, by how it comes, unless `limits` says otherwise."""


@runtime_checkable
class Served(Protocol):
    """A server in this process."""

    @property
    def router(self) -> Router: ...


Target: TypeAlias = str | Sequence[str] | Served


def is_web(target: Target) -> TypeGuard[str]:
    return isinstance(target, str) and scheme_of(target) in WEB


def options_for(target: Target, options: dict[str, Any]) -> Options:
    """The options of the transport, with the limits that MCP has for it."""
    if "limits" not in options:
        scheme = scheme_of(target) if isinstance(target, str) else "stdio"
        options = {**options, "limits": Limits(max_message_bytes=LARGEST.get(scheme, 100 * MIB))}
    return Options(**options)


async def open_duplex(target: Target, router: Router, options: Options) -> DuplexWire:
    """A connection that goes both ways. Raises ConnectError."""
    if isinstance(target, Served):
        return await _open_in_memory(target, router, options.limits)
    try:
        channel = await open_channel(target, options)
    except ValueError as error:
        raise ConnectError(
            str(error), recoverable=False, advice="Check the target and the options."
        ) from error
    return DuplexWire(Peer(channel, router, limits=options.limits))


async def _open_in_memory(server: Served, router: Router, limits: Limits) -> _InMemory:
    stack = AsyncExitStack()
    running = getattr(server, "running", None)
    if running is not None:  # what the server needs while it is served
        await stack.enter_async_context(running())
    return _InMemory(server, router, limits, stack)


class _InMemory(DuplexWire):
    """Both ends in this process: what a test wants, and a program with its own server."""

    def __init__(
        self, server: Served, router: Router, limits: Limits, stack: AsyncExitStack
    ) -> None:
        ours, theirs = direct_pair(limits)
        self._served = Peer(theirs, server.router, limits=limits)
        self._stack = stack
        super().__init__(Peer(ours, router, limits=limits))

    async def close(self) -> None:
        await super().close()
        await self._served.wait_closed()
        await self._stack.aclose()
