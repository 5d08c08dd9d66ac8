"""From a target (a URL, a command, a server in this process) to an agreed connection.

probe with server/discover ──▶ a result, or an error of the stateless era: stateless
                           └─▶ anything else: initialize, as in the handshake era
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

import msgspec
from msgspec import UNSET

from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import MIB, Limits
from accord.jsonrpc.protocol.errors import (
    CallTimeoutError,
    ConnectError,
    InvalidResultError,
    RpcError,
    TransportError,
)
from accord.jsonrpc.runtime.calls import Call, decode_result
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.auth_hook import Auth
from accord.mcp.client.calls import Conversation
from accord.mcp.client.input_requests import InputHandlers
from accord.mcp.client.notifications import Inbox
from accord.mcp.client.wire import Agreement, ClientIdentity, DuplexWire, Wire, direct_pair
from accord.mcp.protocol.content import SERVER_INFO, Meta
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.messages import DiscoverResult, InitializeResult, LogLevel
from accord.mcp.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST,
    LATEST_HANDSHAKE,
    STATELESS_VERSIONS,
    Era,
    era,
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
"""The largest message that is taken, by how it comes, unless `limits` says otherwise."""


@runtime_checkable
class InProcessServer(Protocol):
    """A server in this process."""

    @property
    def router(self) -> Router: ...


Target: TypeAlias = str | Sequence[str] | InProcessServer


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
    if running is not None:  # what the server needs while it is served
        await stack.enter_async_context(running())
    return _InMemory(server, router, limits, stack)


class _InMemory(DuplexWire):
    """Both ends in this process: what a test wants, and a program with its own server."""

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


UNSUPPORTED_VERSION: Final = -32022
STATELESS_ERRORS: Final = frozenset((-32020, -32021, UNSUPPORTED_VERSION))
"""2026-07-28, versioning: errors that only a server of the stateless era sends."""


class HandshakeOnlyError(Exception):
    """The server does not speak the stateless era: a handshake is to be tried."""


class _SupportedVersions(msgspec.Struct):
    supported: list[str] = []


async def discover(
    wire: Wire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    """Ask the server what it speaks. Raises HandshakeOnlyError if that is not `version`."""
    for _ in range(2):
        try:
            return agreement_of(await begin_discover(wire, identity, version, timeout).answer())
        except RpcError as error:
            version = version_after(error)
    raise HandshakeOnlyError


def begin_discover(
    wire: Wire, identity: ClientIdentity, version: str, timeout: float | None
) -> Call:
    wire.agreed(version)
    return wire.begin("server/discover", {"_meta": identity.meta(version)}, timeout=timeout)


def agreement_of(raw: Any) -> Agreement:
    """What was agreed on by discovery. Raises HandshakeOnlyError if no version is shared."""
    try:
        found: DiscoverResult = decode_result(raw, DiscoverResult, "server/discover")
    except InvalidResultError:
        raise HandshakeOnlyError from None
    shared = [each for each in STATELESS_VERSIONS if each in found.supported_versions]
    if not shared:
        raise HandshakeOnlyError
    return Agreement(
        version=shared[-1],
        capabilities=found.capabilities,
        server=_server_info(found.meta),
        instructions=found.instructions,
    )


def version_after(error: RpcError) -> str:
    """What to ask for after the probe failed. Raises HandshakeOnlyError where a handshake is
    the way, and `error` where nothing is."""
    if isinstance(error, TransportError) and not _is_refusal(error):
        raise error
    if error.code != UNSUPPORTED_VERSION or not error.remote:
        if error.code in STATELESS_ERRORS and error.remote:
            raise error  # 2026-07-28, versioning: it is stateless, and does not want this
        raise HandshakeOnlyError from error
    for version in STATELESS_VERSIONS[::-1]:
        if version in _supported_in(error):
            return version
    raise HandshakeOnlyError from error


def _is_refusal(error: TransportError) -> bool:
    """Whether the server answered, though not in JSON-RPC: 4xx other than for want of
    credentials, as servers do that do not know the stateless era."""
    status = error.data.get("status") if isinstance(error.data, dict) else None
    return isinstance(status, int) and 400 <= status < 500 and status not in (401, 403, 407, 429)


def _supported_in(error: RpcError) -> list[str]:
    try:
        return msgspec.convert(error.data, _SupportedVersions).supported
    except msgspec.ValidationError:
        return []


async def probe(
    wire: Wire, identity: ClientIdentity, *, seconds: float, timeout: float | None
) -> Agreement:
    """Find the era of a server that may be silent when it does not know the probe.

    The probe stays open while the handshake is tried, so that a server that is merely slow to
    start is not taken for an old one.
    """
    version = LATEST
    probing = asyncio.ensure_future(discover(wire, identity, version, timeout=timeout))
    shaking: asyncio.Task[Agreement] | None = None
    try:
        await asyncio.wait((probing,), timeout=seconds)
        if not probing.done():
            shaking = asyncio.ensure_future(
                begin_handshake(wire, identity, LATEST_HANDSHAKE, timeout=timeout)
            )
            await asyncio.wait((probing, shaking), return_when=asyncio.FIRST_COMPLETED)
        if probing.done() and (found := _found(probing)) is not None:
            return found
        if shaking is None:
            return await shake_hands(wire, identity, LATEST_HANDSHAKE, timeout=timeout)
        agreement = await shaking
        await finish_handshake(wire, agreement)
        return agreement
    finally:
        for task in (probing, shaking):
            if task is not None and not task.done():
                task.cancel()


def _found(probing: asyncio.Future[Agreement]) -> Agreement | None:
    try:
        return probing.result()
    except (HandshakeOnlyError, CallTimeoutError):
        return None


async def shake_hands(
    wire: Wire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    """Begin a session of the handshake era."""
    agreement = await begin_handshake(wire, identity, version, timeout=timeout)
    await finish_handshake(wire, agreement)
    return agreement


async def begin_handshake(
    wire: Wire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    params = {
        "protocolVersion": version,
        "capabilities": identity.capabilities(version),
        "clientInfo": identity.info,
    }
    call = wire.begin("initialize", params, timeout=timeout)
    found: InitializeResult = decode_result(await call.answer(), InitializeResult, "initialize")
    # 2025-11-25, lifecycle: the server may offer another version; one that is not spoken here
    # ends the connection.
    if found.protocol_version not in HANDSHAKE_VERSIONS:
        raise ConnectError(
            f"the server offers version {found.protocol_version[:40]!r}, which is not spoken here",
            recoverable=False,
            advice=f"Versions with a handshake that are: {', '.join(HANDSHAKE_VERSIONS)}.",
        )
    return Agreement(
        version=found.protocol_version,
        capabilities=found.capabilities,
        server=found.server_info,
        instructions=found.instructions,
    )


async def finish_handshake(wire: Wire, agreement: Agreement) -> None:
    wire.agreed(agreement.version)
    await wire.tell("notifications/initialized", UNSET)


async def begin_as(
    wire: Wire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    """Agree on `version` and none of the other era."""
    if era(version) is Era.HANDSHAKE:
        return await shake_hands(wire, identity, version, timeout=timeout)
    try:
        return await discover(wire, identity, version, timeout=timeout)
    except HandshakeOnlyError as error:
        raise ConnectError(
            f"the server does not speak version {version}",
            recoverable=False,
            advice='Let the client choose the era with mode="auto".',
        ) from error


def _server_info(meta: Meta | None) -> Implementation | None:
    try:
        return msgspec.convert((meta or {})[SERVER_INFO], Implementation)
    except (KeyError, msgspec.ValidationError):
        return None


class ClientTransportOptions(TransportOptions, total=False):
    """The options of a client's transport, as keywords."""

    limits: Limits


class Connector:
    """How one client gets, and gets back, to its server."""

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
        """The version to speak; None to find it out."""
        self._headers = headers
        self._auth = auth
        self._timeout = timeout
        self._longest = longest
        self._probe_seconds = probe_seconds
        self._options = options_for(target, {**options, "headers": headers})
        self._credentials_changed = credentials_changed
        self.log_level: LogLevel | None = None
        """What a new session is told."""

    async def connect(self) -> Conversation:
        """Raises ConnectError, or what the server says."""
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

    async def _reach(self) -> tuple[Wire, Agreement]:
        if is_web(self._target):
            return await self._reach_web(self._target)
        wire = await open_duplex(self._target, self._inbox.router(), self._options)
        try:
            return wire, await self._agree(wire)
        except BaseException:
            await wire.close()
            raise

    async def _reach_web(self, url: str) -> tuple[Wire, Agreement]:
        from accord.mcp.client.http.channel import Endpoint
        from accord.mcp.client.http.detect import reach

        def make_endpoint() -> Endpoint:
            return Endpoint(
                url,
                headers=self._headers,
                auth=self._auth,
                options=self._options,
                credentials_changed=self._credentials_changed,
            )

        return await reach(
            make_endpoint,
            self._inbox.router(),
            self._identity,
            version=self._version,
            timeout=self._timeout,
            limits=self._options.limits,
        )

    async def _agree(self, wire: Wire) -> Agreement:
        if self._version is not None:
            return await begin_as(wire, self._identity, self._version, timeout=self._timeout)
        return await probe(wire, self._identity, seconds=self._probe_seconds, timeout=self._timeout)

    async def _renew(self, wire: Wire) -> Agreement:
        """Begin a new session in place of one that is gone."""
        version = self._version or LATEST_HANDSHAKE
        agreement = await shake_hands(wire, self._identity, version, timeout=self._timeout)
        if self.log_level is not None:
            params = {"level": self.log_level}
            await wire.begin("logging/setLevel", params, timeout=self._timeout).answer()
        return agreement
