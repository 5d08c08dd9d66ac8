"""Connections of a client to a URL, a command, or a server in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import MIB, Limits
from accord.jsonrpc.protocol.errors import (
    ConnectError,
)
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.auth_hook import Auth
from accord.mcp.client.calls import Conversation
from accord.mcp.client.inbox import Inbox, InputHandlers
from accord.mcp.client.negotiation import begin_as, probe, shake_hands
from accord.mcp.client.wire import Agreement, ClientIdentity, ClientWire, DuplexWire, direct_pair
from accord.mcp.protocol.messages import LogLevel
from accord.mcp.protocol.versions import (
    LATEST,
    LATEST_HANDSHAKE,
)
from accord.transports.connect import open_channel
from accord.transports.options import Options, TransportOptions
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
"""The default maximum size of a received message in bytes, by URL scheme."""


@runtime_checkable
class InProcessServer(Protocol):
    """A server in this process."""

    @property
    def router(self) -> Router: ...


Target: TypeAlias = str | Sequence[str] | InProcessServer


def is_web(target: Target) -> TypeGuard[str]:
    return isinstance(target, str) and scheme_of(target) in WEB


def options_for(target: Target, options: dict[str, Any]) -> Options:
    """Return the transport options, with MCP's default limits for the target."""
    if "limits" not in options:
        scheme = scheme_of(target) if isinstance(target, str) else "stdio"
        options = {**options, "limits": Limits(max_message_bytes=LARGEST.get(scheme, 100 * MIB))}
    return Options(**options)


async def open_duplex(target: Target, router: Router, options: Options) -> DuplexWire:
    """Open a connection that carries messages both ways.

    Raises ConnectError if the target cannot be reached or an option is invalid.
    """
    if isinstance(target, InProcessServer):
        return await _open_in_memory(target, router, options.limits)
    try:
        channel = await open_channel(target, options)
    except ValueError as error:
        raise ConnectError(
            str(error), recoverable=False, advice="Check the target and the options."
        ) from error
    return DuplexWire(Peer(channel, router, limits=options.limits))


async def _open_in_memory(server: InProcessServer, router: Router, limits: Limits) -> _InMemory:
    stack = AsyncExitStack()
    running = getattr(server, "running", None)
    if running is not None:  # its lifespan
        await stack.enter_async_context(running())
    return _InMemory(server, router, limits, stack)


class _InMemory(DuplexWire):
    """A connection to a server in this process.

    It also creates and closes the server's end of the connection.
    """

    def __init__(
        self, server: InProcessServer, router: Router, limits: Limits, stack: AsyncExitStack
    ) -> None:
        ours, theirs = direct_pair(limits)
        self._served = Peer(theirs, server.router, limits=limits)
        self._stack = stack
        super().__init__(Peer(ours, router, limits=limits))

    async def close(self) -> None:
        await super().close()
        await self._served.wait_closed()
        await self._stack.aclose()


class ClientTransportOptions(TransportOptions, total=False):
    """Keyword options of a client's transport."""

    limits: Limits


class Connector:
    """A connector of one client to its server.

    It also begins a new session after the server has lost the old one.
    """

    def __init__(
        self,
        target: Target,
        identity: ClientIdentity,
        inbox: Inbox,
        asked: InputHandlers,
        *,
        mode: Literal["auto", "modern", "legacy"],
        version: str | None,
        headers: Mapping[str, str],
        auth: Auth | None,
        timeout: float | None,
        longest: float | None,
        probe_seconds: float,
        options: ClientTransportOptions,
        credentials_changed: Callable[[], None],
    ) -> None:
        self._target = target
        self._identity = identity
        self._inbox = inbox
        self._asked = asked
        self._version = version or {"modern": LATEST, "legacy": LATEST_HANDSHAKE}.get(mode)
        """The version to use; None to negotiate it."""
        self._headers = headers
        self._auth = auth
        self._timeout = timeout
        self._longest = longest
        self._probe_seconds = probe_seconds
        self._options = options_for(target, {**options, "headers": headers})
        self._credentials_changed = credentials_changed
        self.log_level: LogLevel | None = None
        """The log level to set in each new session."""

    async def connect(self) -> Conversation:
        """Connect and negotiate the version.

        Raises ConnectError if the server cannot be reached or shares no version, or the error that
        the server answers.
        """
        wire, agreement = await self._reach()
        return Conversation(
            wire,
            agreement,
            self._identity,
            self._inbox,
            self._asked,
            timeout=self._timeout,
            longest=self._longest,
            renew=self._renew,
        )

    async def _reach(self) -> tuple[ClientWire, Agreement]:
        if is_web(self._target):
            return await self._reach_web(self._target)
        wire = await open_duplex(self._target, self._inbox.router(), self._options)
        try:
            return wire, await self._agree(wire)
        except BaseException:
            await wire.close()
            raise

    async def _reach_web(self, url: str) -> tuple[ClientWire, Agreement]:
        from accord.mcp.client.http_transports import connect_http
        from accord.mcp.client.streamable_http import Endpoint

        def make_endpoint() -> Endpoint:
            return Endpoint(
                url,
                headers=self._headers,
                auth=self._auth,
                options=self._options,
                credentials_changed=self._credentials_changed,
            )

        return await connect_http(
            make_endpoint,
            self._inbox.router(),
            self._identity,
            version=self._version,
            timeout=self._timeout,
            limits=self._options.limits,
        )

    async def _agree(self, wire: ClientWire) -> Agreement:
        if self._version is not None:
            return await begin_as(wire, self._identity, self._version, timeout=self._timeout)
        return await probe(wire, self._identity, seconds=self._probe_seconds, timeout=self._timeout)

    async def _renew(self, wire: ClientWire) -> Agreement:
        """Begin a new session after the server has ended the last one."""
        version = self._version or LATEST_HANDSHAKE
        agreement = await shake_hands(wire, self._identity, version, timeout=self._timeout)
        if self.log_level is not None:
            params = {"level": self.log_level}
            await wire.begin("logging/setLevel", params, timeout=self._timeout).answer()
        return agreement
