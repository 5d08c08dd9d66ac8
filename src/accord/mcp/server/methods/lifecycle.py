"""Handshake, discovery, log level, cancellation, and `subscriptions/listen`, in both eras.

A request of `subscriptions/listen` (2026-07-28) stays open, and brings notifications.
"""

from __future__ import annotations

import logging
from asyncio import timeout
from collections.abc import Callable
from contextlib import suppress
from inspect import isawaitable, signature
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import log_line
from accord.mcp.protocol.content import SUBSCRIPTION_ID
from accord.mcp.protocol.messages import (
    CancelledParams,
    DiscoverResult,
    InitializeParams,
    InitializeResult,
    ListenParams,
    Params,
    Result,
    SetLevelParams,
    SubscriptionFilter,
    failure,
)
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import HANDSHAKE_VERSIONS, VERSIONS, Era, negotiate
from accord.mcp.server.core import HANDSHAKE, STATELESS, Core, MethodRow
from accord.mcp.server.listeners import (
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    ServerChange,
    SessionListener,
    params_of,
)
from accord.mcp.server.session import ClientLink, Incoming, Phase, Principal, link_of
from accord.mcp.server.task_runner import check_extension
from accord.mcp.server.task_store import TaskRecord, notification_params

log = logging.getLogger("accord.mcp")

_decode_cancelled = msgspec.json.Decoder(CancelledParams).decode


def lifecycle_methods(core: Core) -> dict[str, MethodRow]:
    lifecycle = _Lifecycle(core)
    return {
        "initialize": MethodRow(InitializeParams, lifecycle.initialize, HANDSHAKE),
        "ping": MethodRow(Params, lambda _params, _incoming: Result(), HANDSHAKE),
        "logging/setLevel": MethodRow(SetLevelParams, lifecycle.set_level, HANDSHAKE),
        "server/discover": MethodRow(Params, lifecycle.discover, STATELESS),
    }


def lifecycle_notifications(core: Core) -> dict[str, Plan]:
    lifecycle = _Lifecycle(core)
    return {
        "notifications/initialized": lifecycle.initialized,
        "notifications/cancelled": _cancelled,
        "notifications/roots/list_changed": lambda _params, _context: None,
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
        """Return `make(instructions)` for the server's instructions.

        If a function returns the instructions as an awaitable, return a coroutine of the result.
        """
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


MAX_TASKS: Final = 1_000
"""The maximum number of tasks in one subscription."""


def subscription_methods(core: Core) -> dict[str, MethodRow]:
    return {"subscriptions/listen": MethodRow(ListenParams, _Subscriptions(core).listen, STATELESS)}


class _Subscriptions:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._tasks = core.tasks

    async def listen(self, params: ListenParams, incoming: Incoming) -> Any:
        server, tasks = self._server, self._tasks
        requested = await self._with_tasks(
            self._access.supported(params.notifications, incoming), incoming
        )
        id = incoming.context.id
        listener = SubscriptionListener(incoming.link, requested, id)
        server.listeners.add(listener)
        tasks.listen(requested.task_ids, listener.hear_of_task)
        try:
            # 2026-07-28, subscriptions: the acknowledgment comes before everything else.
            incoming.link.notify(
                "notifications/subscriptions/acknowledged",
                {"_meta": {SUBSCRIPTION_ID: id}, "notifications": requested},
            )
            # An expired token gives no right to further notifications.
            principal = incoming.link.principal
            with suppress(TimeoutError):
                async with timeout(None if principal is None else principal.seconds_left):
                    await server.closing.wait()
        finally:
            server.listeners.discard(listener)
            tasks.stop_listening(requested.task_ids, listener.hear_of_task)
        return self._runner.replies.finish(Result(meta={SUBSCRIPTION_ID: id}), incoming)

    async def _with_tasks(
        self, requested: SubscriptionFilter, incoming: Incoming
    ) -> SubscriptionFilter:
        """Return the filter of a `subscriptions/listen` request with fewer tasks.

        Tasks that the client may not see, and tasks beyond `MAX_TASKS`, are removed.

        Raises RpcError if the client requests tasks without declaring the extension for tasks.
        """
        if not requested.task_ids:
            return requested
        check_extension(incoming)
        ids = list(dict.fromkeys(requested.task_ids))[:MAX_TASKS]
        known = await self._tasks.among(ids, incoming)
        return replace(requested, task_ids=[record.id for record in known])


class SubscriptionListener:
    """The listener of one `subscriptions/listen` request."""

    __slots__ = ("_id", "_link", "_lists", "_uris")

    def __init__(self, link: ClientLink, wanted: SubscriptionFilter, id: Any) -> None:
        self._link = link
        self._id = id
        self._uris = frozenset(wanted.resource_subscriptions)
        lists = {
            TOOLS_CHANGED: wanted.tools_list_changed,
            PROMPTS_CHANGED: wanted.prompts_list_changed,
            RESOURCES_CHANGED: wanted.resources_list_changed,
        }
        self._lists = frozenset(change for change, want in lists.items() if want)

    @property
    def principal(self) -> Principal | None:
        return self._link.principal

    def hear(self, change: ServerChange) -> None:
        if change.uri in self._uris if change.uri else change in self._lists:
            params = {"_meta": {SUBSCRIPTION_ID: self._id}, **params_of(change)}
            self._link.notify(change.method, params)

    def hear_of_task(self, record: TaskRecord) -> None:
        self._link.notify("notifications/tasks", notification_params(record, self._id))
