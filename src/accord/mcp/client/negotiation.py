"""Version negotiation: the choice of a version that client and server share.

    probe with server/discover ──▶ a result, or an error of the stateless era: stateless
                 │
                 └─ any other error, or silence ──▶ initialize: handshake

This module does not depend on the transport.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.jsonrpc.protocol.errors import (
    CallTimeoutError,
    ConnectError,
    InvalidResultError,
    RpcError,
    TransportError,
)
from accord.jsonrpc.runtime.calls import Call, decode_result
from accord.mcp.client.wire import Agreement, ClientIdentity, ClientWire
from accord.mcp.protocol.content import SERVER_INFO, Meta
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.messages import DiscoverResult, InitializeResult
from accord.mcp.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST,
    LATEST_HANDSHAKE,
    STATELESS_VERSIONS,
    Era,
    era,
)

UNSUPPORTED_VERSION: Final = -32022
STATELESS_ERRORS: Final = frozenset((-32020, -32021, UNSUPPORTED_VERSION))
"""Codes of errors that only servers of the stateless era send (2026-07-28, versioning)."""


class HandshakeOnlyError(Exception):
    """No shared version of the stateless era; a handshake may still succeed."""


class _SupportedVersions(msgspec.Struct):
    supported: list[str] = []


async def discover(
    wire: ClientWire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    """Negotiate a version of the stateless era, starting with `version`.

    Raises HandshakeOnlyError if no version is shared.
    """
    for _ in range(2):
        try:
            return agreement_of(await begin_discover(wire, identity, version, timeout).answer())
        except RpcError as error:
            version = version_after(error)
    raise HandshakeOnlyError


def begin_discover(
    wire: ClientWire, identity: ClientIdentity, version: str, timeout: float | None
) -> Call:
    wire.agreed(version)
    return wire.begin("server/discover", {"_meta": identity.meta(version)}, timeout=timeout)


def agreement_of(raw: Any) -> Agreement:
    """Return the agreement that follows from a result of `server/discover`.

    Raises HandshakeOnlyError if the result is malformed or no version is shared.
    """
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
    """Return the version for a second probe, after the first one failed with `error`.

    Raises HandshakeOnlyError if only a handshake can succeed, and `error` if a handshake cannot
    succeed either.
    """
    if isinstance(error, TransportError) and not _is_refusal(error):
        raise error
    if error.code != UNSUPPORTED_VERSION or not error.remote:
        if error.code in STATELESS_ERRORS and error.remote:
            raise error  # 2026-07-28, versioning: a stateless server refuses this very request
        raise HandshakeOnlyError from error
    for version in STATELESS_VERSIONS[::-1]:
        if version in _supported_in(error):
            return version
    raise HandshakeOnlyError from error


def _is_refusal(error: TransportError) -> bool:
    """Return whether the server answered the probe with a 4xx status and no JSON-RPC.

    Servers without the stateless era answer like that. The statuses 401, 403, 407 and 429 do not
    count: they demand credentials or a pause.
    """
    status = error.data.get("status") if isinstance(error.data, dict) else None
    return isinstance(status, int) and 400 <= status < 500 and status not in (401, 403, 407, 429)


def _supported_in(error: RpcError) -> list[str]:
    try:
        return msgspec.convert(error.data, _SupportedVersions).supported
    except msgspec.ValidationError:
        return []


async def probe(
    wire: ClientWire, identity: ClientIdentity, *, seconds: float, timeout: float | None
) -> Agreement:
    """Negotiate with a server that may not answer `server/discover` at all.

    After `seconds` of silence, a handshake is tried too. The probe stays open meanwhile, so that a
    server that is slow to start is not mistaken for an old one.
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
    wire: ClientWire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    """Begin a session of the handshake era with `initialize`."""
    agreement = await begin_handshake(wire, identity, version, timeout=timeout)
    await finish_handshake(wire, agreement)
    return agreement


async def begin_handshake(
    wire: ClientWire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    params = {
        "protocolVersion": version,
        "capabilities": identity.capabilities(version),
        "clientInfo": identity.info,
    }
    call = wire.begin("initialize", params, timeout=timeout)
    found: InitializeResult = decode_result(await call.answer(), InitializeResult, "initialize")
    # 2025-11-25, lifecycle: the server may offer another version; an unsupported one ends the
    # connection.
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


async def finish_handshake(wire: ClientWire, agreement: Agreement) -> None:
    wire.agreed(agreement.version)
    await wire.tell("notifications/initialized", UNSET)


async def begin_as(
    wire: ClientWire, identity: ClientIdentity, version: str, *, timeout: float | None
) -> Agreement:
    """Negotiate a version with the server: `version`, or another one of its era.

    Raises ConnectError if the server shares no version of that era.
    """
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
