"""The MCP server of the hub in all protocol versions, with request guard and completions.

Tools are made from the operations; resources, prompts and completions are added here. The guard
authorizes, charges and audits requests that no operation serves. Serve it with an authenticator
that gives principals their `Caller`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Final

from accord import __version__
from accord.hub.domain.rules import KINDS, TRANSITIONS, Kind
from accord.hub.entities import UNASSIGNED
from accord.hub.mcp.notifier import ChangeNotifier
from accord.hub.mcp.prompts import ActivePrompt, StoredPrompts
from accord.hub.mcp.resources import PROMPT_FORBIDDEN, RESOURCE_ROWS, HubResource, ListedItems
from accord.hub.storage import reference_data
from accord.hub.storage.reference_data import NamedEntity
from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp.protocol.messages import Completion, Profile
from accord.mcp.server.auth.authenticator import Authenticator
from accord.mcp.server.components.completions import matching
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.server import Server
from accord.mcp.server.server_state import McpLimits
from accord.operations.adapters.errors import mcp_error
from accord.operations.adapters.mcp_tools import (
    add_tools,
    caller_in,
    introduced,
    keep_allowance,
    told_to_programs,
)
from accord.operations.audit.record import Record, Result
from accord.operations.context import Caller
from accord.operations.errors import ForbiddenError, RateLimitedError, ServiceError
from accord.operations.runner import Runner
from accord.store.store import Store

SERVED_BY_OPERATIONS: Final = frozenset(("tools/call", "resources/read", "prompts/get"))
"""Methods served by operations; the operation runner records them."""
UNRECORDED: Final = frozenset(("ping",))
COST: Final = 1
"""The cost of such a request in the rate limit of its caller."""
READING_METHODS: Final = frozenset(
    (
        "resources/list",
        "resources/subscribe",
        "prompts/list",
        "completion/complete",
        "subscriptions/listen",
    )
)
"""Methods that reveal stored data."""


class RequestGuard:
    """A guard that authorizes, charges and records the requests of one hub."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def __call__(self, incoming: Incoming) -> Awaitable[None] | None:
        """Raise RpcError for anonymous callers and those without the right to read."""
        method = incoming.method
        if method in SERVED_BY_OPERATIONS:
            return None  # the operation authorizes the caller
        caller = caller_in(incoming)
        if method in UNRECORDED:
            return None
        try:
            if method in READING_METHODS:
                caller.require("read", method)
        except ForbiddenError as error:
            self._record(caller, method, "denied", error.kind.code)
            raise _to_rpc_error(error, caller, incoming) from None
        return self._charge(caller, incoming)

    async def _charge(self, caller: Caller, incoming: Incoming) -> None:
        """Raise RpcError if the caller exceeds the rate limit."""
        try:
            keep_allowance(incoming, await self._runner.take(caller, COST))
        except RateLimitedError as error:
            keep_allowance(incoming, error.allowance)
            self._record(caller, incoming.method, "refused", error.kind.code)
            raise _to_rpc_error(error, caller, incoming) from None
        self._record(caller, incoming.method)

    def _record(
        self, caller: Caller, method: str, outcome: Result = "done", error: str = ""
    ) -> None:
        self._runner.trail.enqueue(
            Record(
                id=self._runner.new_id(),
                time=self._runner.now(),
                actor_id=caller.user_id,
                actor=caller.username,
                via=caller.via,
                face=caller.face,
                token_id=caller.token_id,
                client=caller.client,
                address=caller.address,
                operation=method,
                target=method.partition("/")[0],
                outcome=outcome,
                error=error,
                correlation_id=caller.correlation_id,
            )
        )


def _to_rpc_error(error: ServiceError, caller: Caller, incoming: Incoming) -> RpcError:
    return mcp_error(error, caller.correlation_id, era=incoming.era, **told_to_programs(error))


MAX_COMPLETIONS: Final = 100
MAX_TYPED: Final = 200


def add_completions(server: Server, store: Store) -> None:
    """Register completions for the arguments of the hub's resource templates."""
    hub = _Completions(store)
    for argument, function in (
        ("id", hub.id),
        ("status", hub.status),
        ("type", hub.type),
        ("assignee", hub.assignee),
        ("creator", hub.person),
        ("label", hub.label),
        ("name", hub.prompt),
    ):
        server.completions.add(function, argument=argument)


class _Completions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def id(self, value: str, of: str) -> Completion:
        """Complete reference ids, by prefix or by a part of the title.

        Text that looks like the beginning of a UUID is completed to ids; prompts are also completed
        by name.
        """
        kind = _kind_of(of)
        if kind is None:
            return _completed([])
        typed = _plain(value)
        found = await reference_data.complete_references(
            self._store, kind, typed, MAX_COMPLETIONS + 1
        )
        if typed and not found:
            found = await reference_data.complete_ids(self._store, kind, typed, MAX_COMPLETIONS + 1)
        if kind == "prompt":
            found += await reference_data.complete_names(
                self._store, "prompt", typed.lower(), MAX_COMPLETIONS + 1
            )
        return _completed(found)

    async def prompt(self, value: str) -> Completion:
        return await self._beginning_with("prompt", value)

    async def person(self, value: str) -> Completion:
        return await self._beginning_with("person", value)

    async def assignee(self, value: str) -> Completion:
        """Complete usernames, and `unassigned` from its second letter on."""
        found = await self._names("person", value)
        return _completed([*matching(value, [UNASSIGNED] if len(value) > 1 else []), *found])

    async def label(self, value: str) -> Completion:
        return await self._beginning_with("label", value)

    async def type(self, value: str) -> Completion:
        return _completed(
            matching(value, await reference_data.first_types(self._store, MAX_COMPLETIONS))
        )

    async def status(self, value: str, of: str) -> Completion:
        every = {
            kind: list(statuses)
            for kind, statuses in TRANSITIONS.items()
            if of.startswith(f"requirements://{KINDS[kind].plural}")
        } or {kind: list(statuses) for kind, statuses in TRANSITIONS.items()}
        names = list(dict.fromkeys(name for statuses in every.values() for name in statuses))
        return _completed(matching(value, names))

    async def _beginning_with(self, of: NamedEntity, value: str) -> Completion:
        return _completed(await self._names(of, value))

    async def _names(self, of: NamedEntity, value: str) -> list[str]:
        return await reference_data.complete_names(
            self._store, of, _plain(value).casefold(), MAX_COMPLETIONS + 1
        )


def _kind_of(template: str) -> Kind | None:
    scheme = template.partition("://")[0]
    return next((each.kind for each in KINDS.values() if each.scheme == scheme), None)


def _plain(value: str) -> str:
    """Return the typed text without NUL, which no database accepts."""
    return value.replace("\0", "")[:MAX_TYPED]


def _completed(values: list[str]) -> Completion:
    return Completion(values=values[:MAX_COMPLETIONS], has_more=len(values) > MAX_COMPLETIONS)


NAME: Final = "accord-hub"
REST: Final = "Whole items are in their resources, such as requirement://REQ-001."
ONE_PAGE: Final = 10_000
"""Large enough to list all tools, and all templates, in one page."""


class _Version:
    """A counter that grows with every change of the hub known to this process."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self) -> int:
        return self._number

    def move(self) -> None:
        self._number += 1


def hub_server(
    runner: Runner,
    *,
    auth: Authenticator | None = None,
    codes: Profile = "standard",
    limits: McpLimits | None = None,
) -> Server:
    """Return the MCP server of a hub.

    Clients are notified of changes while the server runs; of changes by other processes only if
    `announce` is among the recorders.
    """
    version = _Version()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        async with feed.running():
            yield

    server = Server(
        NAME,
        version=__version__,
        title="Accord requirements hub",
        instructions=ActivePrompt(runner, version).told_to,
        lifespan=lifespan,
        auth=auth,
        codes=codes,
        limits=limits,
        page_size=ONE_PAGE,
    )
    server.introduce = introduced
    feed = ChangeNotifier(server, runner.store, version.move)
    # Caches must be stale at once after a write of this process, before its notification.
    runner.listen(lambda outcome, caller, operation: feed.wrote(outcome.change_id))
    server.guards.append(RequestGuard(runner))
    add_tools(server, runner, rest=REST, forbidden={"prompts": PROMPT_FORBIDDEN})
    for row in RESOURCE_ROWS:
        if runner.registry.get(row.operation) is not None:
            server.resources.add(row.uri, HubResource(row, runner, feed.watch))
    server.resource_source = ListedItems(runner.store, version)
    server.prompt_source = StoredPrompts(runner, version)
    add_completions(server, runner.store)
    return server
