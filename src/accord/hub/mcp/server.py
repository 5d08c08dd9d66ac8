"""The MCP server of the hub: request guard, completions and notifications.

Tools are made from the operations; resources, prompts and completions are added here. The guard
authorizes, rate-limits and audits requests that run no operation. The server needs an authenticator
that gives each principal its `Caller`.

Every write wakes all processes (`accord.hub.recorders`). The notifier of each process reads from
the tables the changes that it has not announced yet; without subscribers it reads only the number
of the last change. Changes are numbered in the order of their commits, so the clocks of the
machines do not matter. Callers with a revoked token or a deactivated account get no more
notifications.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import msgspec

from accord import __version__
from accord.hub.domain.rules import KINDS, TRANSITIONS, Kind
from accord.hub.entities import UNASSIGNED
from accord.hub.mcp.resources import (
    PROMPT_FORBIDDEN,
    RESOURCE_ROWS,
    ActivePrompt,
    ChangedEntity,
    HubResource,
    ItemPlace,
    ListedItems,
    StoredPrompts,
    canonical,
    changes_items,
    changes_prompts,
    uris_of,
)
from accord.hub.recorders import CHANNEL
from accord.hub.storage import items, reference_data, revisions
from accord.hub.storage.reference_data import NamedEntity
from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp.protocol.messages import Completion, Profile
from accord.mcp.server.auth.authenticator import Authenticator
from accord.mcp.server.components.handler import matching
from accord.mcp.server.listeners import PROMPTS_CHANGED, RESOURCES_CHANGED, ServerChange, updated
from accord.mcp.server.server import Server
from accord.mcp.server.server_state import McpLimits
from accord.mcp.server.session import Incoming
from accord.operations.adapters.errors import mcp_error
from accord.operations.adapters.mcp_tools import (
    add_tools,
    caller_in,
    header_data,
    keep_allowance,
    known_caller,
    recorded_client,
)
from accord.operations.audit.record import Record, Result
from accord.operations.auth.storage import find_revoked
from accord.operations.context import Caller
from accord.operations.errors import ForbiddenError, RateLimitedError, ServiceError
from accord.operations.runner import Runner
from accord.store.store import ReadTransaction, Store, StoreError

log = logging.getLogger("accord.hub")

CHANGES_PER_READ: Final = 500
MAX_NOTIFIED: Final = 10_000
"""The number of revisions after which the notifier ends a pass; the next pass sends the rest."""
MAX_PENDING: Final = 1_000
MAX_SPELLINGS: Final = 10_000

Mark: TypeAlias = tuple[int, int]
"""A read position: the number of a change, and the place of one of its revisions."""
AFTER_ALL: Final = 2**31 - 1
"""A place in a read position that comes after all revisions of a change."""


class ChangeNotifier:
    """A background notifier that sends changes of a hub to clients of an MCP server.

    `on_change` is called after each change, even if no client listens.
    """

    def __init__(self, server: Server, store: Store, on_change: Callable[[], None]) -> None:
        self._server = server
        self._store = store
        self._on_change = on_change
        self._since: Mark = (0, AFTER_ALL)
        self._own_changes: set[str] = set()
        """Ids of changes that this process made while no client listened.

        An id is removed once the notifier has read the change from the tables."""
        self._task: asyncio.Task[None] | None = None
        self._is_stale = False
        self._spelled: dict[str, set[str]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow changes while the context is open."""
        stop = await self._store.listen(CHANNEL, self._wake)
        self._since = await self._store.read(_last_mark)
        try:
            yield
        finally:
            stop()
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)

    def note_own_change(self, change_id: str) -> None:
        """Note a change made by this process; later subscribers are not notified of it."""
        self._on_change()
        if not len(self._server.listeners) and len(self._own_changes) < MAX_PENDING:
            self._own_changes.add(change_id)

    def watch(self, uri: str) -> None:
        """Remember how a client spells a URI.

        Notifications about the resource are sent for this spelling, too.
        """
        known = canonical(uri)
        if known != uri and len(self._spelled) < MAX_SPELLINGS:
            self._spelled.setdefault(known, set()).add(uri)

    def _wake(self) -> None:
        """Start a task that reads new changes, or make the running task read again."""
        self._on_change()
        # At most one task reads; a wake-up during its run makes it run once more.
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._read_changes())
        else:
            self._is_stale = True

    async def _read_changes(self) -> None:
        """Read changes until no wake-up came during the last pass."""
        try:
            while True:
                self._is_stale = False
                try:
                    await self._catch_up()
                except StoreError as error:
                    log.warning("changes are told later: %s", error)
                except Exception:
                    log.exception("changes could not be told")
                if not self._is_stale:
                    return
        finally:
            self._task = None

    async def _catch_up(self) -> None:
        """Notify listeners of new changes; without listeners only move the read position."""
        known = frozenset(self._own_changes)
        if not len(self._server.listeners):
            last = await self._store.read(_last_mark)
            if not len(self._server.listeners):
                self._since = last
                self._own_changes -= known
                return
            # A client that subscribed during the read may predate the last change, so send the
            # changes. It cannot predate changes that this process noted since: skip those.
            known = frozenset(self._own_changes)
        await self._notify_listeners(known)
        self._own_changes -= known

    async def _notify_listeners(self, known: frozenset[str]) -> None:
        """Send a notification for each changed URI and list.

        `known` are the ids of changes to skip, because they were made before any client listened.
        """
        since, listeners = self._since, self._server.listeners
        revisions, places, read = await self._store.read(lambda db: _unannounced(db, since, known))
        # Read after the changes, so a caller barred before one of them is not notified of it.
        callers = [known_caller(principal) for principal in listeners.principals]
        silent = await self._store.read(lambda db: find_revoked(db, callers))
        listeners.silence(lambda principal: known_caller(principal) in silent)
        changes: dict[ServerChange, None] = {}
        for revision in revisions:
            for uri in uris_of(revision, places):
                for spelled in (uri, *self._spelled.get(uri, ())):
                    changes[updated(spelled)] = None
            if changes_prompts(revision):
                changes[PROMPTS_CHANGED] = None
            if changes_items(revision):
                changes[RESOURCES_CHANGED] = None
        for change in changes:
            listeners.tell_here(change)
        self._since = read
        self._is_stale = self._is_stale or len(revisions) > MAX_NOTIFIED


async def _last_mark(db: ReadTransaction) -> Mark:
    """Return the read position after the newest change."""
    return await revisions.last_sequence(db), AFTER_ALL


async def _unannounced(
    db: ReadTransaction, since: Mark, known: frozenset[str]
) -> tuple[list[ChangedEntity], dict[str, ItemPlace], Mark]:
    """Return the revisions after `since`, but not those of the changes in `known`.

    Also return the places of the affected items in the hierarchy, and the new read position.
    """
    found: list[ChangedEntity] = []
    while True:
        rows = await revisions.after(db, *since, CHANGES_PER_READ)
        found += [_changed_entity(row) for row in rows if row["change_id"] not in known]
        if rows:
            since = rows[-1]["sequence"], rows[-1]["place"]
        if len(rows) < CHANGES_PER_READ or len(found) > MAX_NOTIFIED:
            break
    return found, await _places(db, {id for each in found for id in each.items}), since


async def _places(db: ReadTransaction, ids: Iterable[str]) -> dict[str, ItemPlace]:
    found: dict[str, ItemPlace] = {}
    for row in await items.places_of_items(db, sorted(ids)):
        for prefix in ("", "p_", "g_"):
            if row[f"{prefix}id"] is not None:
                place = ItemPlace(
                    row[f"{prefix}kind"],
                    row[f"{prefix}id"],
                    row[f"{prefix}reference_id"],
                    row[f"{prefix}parent_id"],
                )
                found[place.id] = place
    return found


def _changed_entity(row: Any) -> ChangedEntity:
    return ChangedEntity(
        kind=row["kind"],
        id=row["entity_id"],
        reference_id=row["reference_id"],
        action=row["action"],
        before=msgspec.json.decode(row["before"]) if row["before"] else {},
        after=msgspec.json.decode(row["after"]) if row["after"] else {},
    )


SERVED_BY_OPERATIONS: Final = frozenset(("tools/call", "resources/read", "prompts/get"))
"""MCP methods that run an operation; the operation runner checks and records them."""
UNRECORDED: Final = frozenset(("ping",))
REQUEST_COST: Final = 1
"""The cost of a request that runs no operation, in the rate limit of its caller."""
READING_METHODS: Final = frozenset(
    (
        "resources/list",
        "resources/subscribe",
        "prompts/list",
        "completion/complete",
        "subscriptions/listen",
    )
)
"""MCP methods that reveal stored data."""


class RequestGuard:
    """A guard that authorizes, rate-limits and audits the requests to one hub."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def __call__(self, incoming: Incoming) -> Awaitable[None] | None:
        """Raise RpcError for anonymous callers and those without the right to read.

        Return an awaitable that charges the request to the caller's rate limit. Return None for
        pings, and for methods that run an operation, because the operation checks the caller.
        """
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
        """Charge a request to the rate limit of its caller, and record it.

        Raises RpcError if the caller exceeds the limit.
        """
        try:
            keep_allowance(incoming, await self._runner.take(caller, REQUEST_COST))
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
    return mcp_error(error, caller.correlation_id, era=incoming.era, **header_data(error))


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
        """Complete the variable `id` of a URI template with reference ids.

        `value` is the text typed so far: the beginning of a reference id, or a part of a title. If
        no reference id fits, complete with UUIDs. Prompts are also completed with their names.
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
        """Complete usernames; complete `unassigned` after two typed letters."""
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
    """Return the typed text, cut, and without NUL, which no database accepts."""
    return value.replace("\0", "")[:MAX_TYPED]


def _completed(values: list[str]) -> Completion:
    return Completion(values=values[:MAX_COMPLETIONS], has_more=len(values) > MAX_COMPLETIONS)


SERVER_NAME: Final = "accord-hub"
RESOURCES_NOTE: Final = "Whole items are in their resources, such as requirement://REQ-001."
ONE_PAGE: Final = 10_000
"""A page size that is large enough to list all tools, or all templates, in one page."""


class _Version:
    """A version number for caches: it grows whenever this process learns of a change."""

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
    async def lifespan(_server: Server) -> AsyncIterator[None]:
        async with feed.running():
            yield

    server = Server(
        SERVER_NAME,
        version=__version__,
        title="Accord requirements hub",
        instructions=ActivePrompt(runner, version).instructions_for,
        lifespan=lifespan,
        auth=auth,
        codes=codes,
        limits=limits,
        page_size=ONE_PAGE,
    )
    server.introduce = recorded_client
    feed = ChangeNotifier(server, runner.store, version.move)
    # Caches must be stale at once after a write of this process, before its notification.
    runner.listen(lambda outcome, *_: feed.note_own_change(outcome.change_id))
    server.guards.append(RequestGuard(runner))
    add_tools(server, runner, rest=RESOURCES_NOTE, forbidden={"prompts": PROMPT_FORBIDDEN})
    for row in RESOURCE_ROWS:
        if runner.registry.get(row.operation) is not None:
            server.resources.add(row.uri, HubResource(row, runner, feed.watch))
    server.resource_source = ListedItems(runner.store, version)
    server.prompt_source = StoredPrompts(runner, version)
    add_completions(server, runner.store)
    return server
