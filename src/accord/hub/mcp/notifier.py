"""The notifier: send MCP notifications about changes of any process to subscribers.

Every write wakes all processes (`announce`). Each reads from the tables what it has not told yet,
as long as anybody listens to it, and otherwise only how far the changes have come: they are
numbered in the order in which they were committed, whatever the clocks of the machines say. Whose
token was revoked, or who was deactivated, hears nothing more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import msgspec

from accord.hub.mcp.resources import (
    ChangedEntity,
    ItemPlace,
    canonical,
    changes_items,
    changes_prompts,
    uris_of,
)
from accord.hub.recorders import CHANNEL
from accord.hub.storage import items, revisions
from accord.mcp.server.listeners import PROMPTS_CHANGED, RESOURCES_CHANGED, ServerChange, updated
from accord.mcp.server.server import Server
from accord.operations.adapters.mcp_tools import known_caller
from accord.operations.auth.revocation import find_revoked
from accord.store.store import ReadTransaction, Store, StoreError

log = logging.getLogger("accord.hub")

PAGE: Final = 500
MAX_NOTIFIED: Final = 10_000
"""The maximum number of revisions sent in one pass; later ones follow in the next."""
MAX_PENDING: Final = 1_000
MAX_SPELLINGS: Final = 10_000

Mark: TypeAlias = tuple[int, int]
"""A read position: the number of a change, and a place among its revisions."""
AFTER_ALL: Final = 2**31 - 1
"""A place after all revisions of a change."""


class ChangeNotifier:
    """The changes of one hub, for the clients of one server.

    `moved` is called for each change, even without listeners.
    """

    def __init__(self, server: Server, store: Store, moved: Callable[[], None]) -> None:
        self._server = server
        self._store = store
        self._moved = moved
        self._since: Mark = (0, AFTER_ALL)
        self._unheard: set[str] = set()
        """Changes made by this process while it had no listeners, and not read yet."""
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._spelled: dict[str, set[str]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow changes while the context is open."""
        stop = await self._store.listen(CHANNEL, self._wake)
        self._since = await self._store.read(_last)
        try:
            yield
        finally:
            stop()
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)

    def wrote(self, change_id: str) -> None:
        """Note a change made by this process; later subscribers are not notified of it."""
        self._moved()
        if not len(self._server.listeners) and len(self._unheard) < MAX_PENDING:
            self._unheard.add(change_id)

    def watch(self, uri: str) -> None:
        """Remember the spelling of a URI that a client subscribed to."""
        known = canonical(uri)
        if known != uri and len(self._spelled) < MAX_SPELLINGS:
            self._spelled.setdefault(known, set()).add(uri)

    def _wake(self) -> None:
        self._moved()
        # At most one task reads; a wake-up during its run makes it run once more.
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look())
        else:
            self._again = True

    async def _look(self) -> None:
        try:
            while True:
                self._again = False
                try:
                    await self._catch_up()
                except StoreError as error:
                    log.warning("changes are told later: %s", error)
                except Exception:
                    log.exception("changes could not be told")
                if not self._again:
                    return
        finally:
            self._task = None

    async def _catch_up(self) -> None:
        looked_at = frozenset(self._unheard)
        if not len(self._server.listeners):
            last = await self._store.read(_last)
            if not len(self._server.listeners):
                self._since = last
                self._unheard -= looked_at
                return
            # A client that subscribed during the read may predate the last change, so send the
            # changes. It cannot predate changes that this process noted since: skip those.
            looked_at = frozenset(self._unheard)
        await self._notify_listeners(looked_at)
        self._unheard -= looked_at

    async def _notify_listeners(self, known: frozenset[str]) -> None:
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
        self._again = self._again or len(revisions) > MAX_NOTIFIED


async def _last(db: ReadTransaction) -> Mark:
    """Return the current read position."""
    return await revisions.last_sequence(db), AFTER_ALL


async def _unannounced(
    db: ReadTransaction, since: Mark, known: frozenset[str]
) -> tuple[list[ChangedEntity], dict[str, ItemPlace], Mark]:
    """Return the revisions after `since` that are not of a known change.

    Also return the locations of their items, and the new read position.
    """
    found: list[ChangedEntity] = []
    while True:
        rows = await revisions.after(db, *since, PAGE)
        found += [_revision(row) for row in rows if row["change_id"] not in known]
        if rows:
            since = rows[-1]["sequence"], rows[-1]["place"]
        if len(rows) < PAGE or len(found) > MAX_NOTIFIED:
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


def _revision(row: Any) -> ChangedEntity:
    return ChangedEntity(
        kind=row["kind"],
        id=row["entity_id"],
        reference_id=row["reference_id"],
        action=row["action"],
        before=msgspec.json.decode(row["before"]) if row["before"] else {},
        after=msgspec.json.decode(row["after"]) if row["after"] else {},
    )
