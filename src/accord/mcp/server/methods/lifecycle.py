"""Handshake, discovery, log level and cancellation, in both eras."""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import isawaitable, signature
from typing import Any

import msgspec

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.jsonrpc.protocol.errors import log_line
from accord.mcp.protocol.messages import (
    CancelledParams,
    DiscoverResult,
    InitializeParams,
    InitializeResult,
    Params,
    Result,
    SetLevelParams,
    failure,
)
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import HANDSHAKE_VERSIONS, VERSIONS, Era, negotiate
from accord.mcp.server.core import HANDSHAKE, STATELESS, Core, MethodRow
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.listeners import SessionListener
from accord.mcp.server.session import Phase, link_of

log = logging.getLogger("accord.mcp")

_decode_cancelled = msgspec.json.Decoder(CancelledParams).decode


def lifecycle_methods(core: Core) -> dict[str, MethodRow]:
    lifecycle = _Lifecycle(core)
    return {
        "initialize": MethodRow(InitializeParams, lifecycle.initialize, HANDSHAKE),
        "ping": MethodRow(Params, lambda params, incoming: Result(), HANDSHAKE),
        "logging/setLevel": MethodRow(SetLevelParams, lifecycle.set_level, HANDSHAKE),
        "server/discover": MethodRow(Params, lifecycle.discover, STATELESS),
    }


def lifecycle_notifications(core: Core) -> dict[str, Plan]:
    lifecycle = _Lifecycle(core)
    return {
        "notifications/initialized": lifecycle.initialized,
        "notifications/cancelled": _cancelled,
        "notifications/roots/list_changed": lambda params, context: None,
    }


class _Lifecycle:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access

    def initialize(self, params: InitializeParams, incoming: Incoming) -> Any:
        session = incoming.link.session
        assert session is not None
        if session.phase is not Phase.NEW:
            raise failure(
                "not_initialized",
                "initialize was answered already",
                era=Era.HANDSHAKE,
                profile=self._server.codes,
            )
        if self._server.strict_versions and params.protocol_version not in HANDSHAKE_VERSIONS:
            raise failure(
                "unsupported_protocol_version",
                "Unsupported protocol version",
                era=Era.HANDSHAKE,
                profile="extended",
                supported=list(HANDSHAKE_VERSIONS[::-1]),
                requested=params.protocol_version[:100],
            )
        session.version = negotiate(params.protocol_version)
        session.client_info = self._server.introduce(params.client_info)
        session.capabilities = params.capabilities
        session.phase = Phase.INITIALIZING
        return self._with_instructions(
            incoming,
            lambda instructions: in_version(
                session.version,
                InitializeResult(
                    protocol_version=session.version,
                    capabilities=self._server.capabilities(session.version),
                    server_info=self._server.info,
                    instructions=instructions,
                ),
            ),
        )

    def initialized(self, params: Any, context: RpcContext | None) -> None:
        assert context is not None
        link = link_of(context)
        if link.session is None or link.session.phase is not Phase.INITIALIZING:
            return
        link.session.phase = Phase.READY
        listener = SessionListener(link)
        self._server.listeners.add(listener)
        link.at_end(lambda: self._server.listeners.discard(listener))

    def set_level(self, params: SetLevelParams, incoming: Incoming) -> Result:
        assert incoming.link.session is not None
        incoming.link.session.log_level = params.level
        return Result()

    def discover(self, params: Params, incoming: Incoming) -> Any:
        return self._with_instructions(
            incoming,
            lambda instructions: self._runner.replies.finish(
                DiscoverResult(
                    supported_versions=list(VERSIONS[::-1]),
                    capabilities=self._server.capabilities(incoming.version),
                    instructions=instructions,
                    ttl_ms=self._server.ttl_ms,
                    cache_scope=self._access.cache_scope(incoming),
                ),
                incoming,
            ),
        )

    def _with_instructions(self, incoming: Incoming, make: Any) -> Any:
        """Return the result, or a coroutine of it for async instructions."""
        value: Any = self._server.instructions
        if callable(value):
            value = value(self._runner.context(incoming)) if _takes_context(value) else value()
        if isawaitable(value):
            return _later(value, make)
        return make(value)


def _takes_context(function: Callable[..., Any]) -> bool:
    return bool(signature(function).parameters)


async def _later(value: Any, make: Any) -> Any:
    return make(await value)


def _cancelled(params: Any, context: RpcContext | None) -> None:
    assert context is not None
    try:
        cancelled = _decode_cancelled(params)
    except REFUSALS:
        return  # 2025-11-25, cancellation: what is malformed is ignored
    if isinstance(cancelled.request_id, int | str):
        log.debug("request cancelled: %s", log_line(cancelled.reason))
        link_of(context).cancel(cancelled.request_id)
