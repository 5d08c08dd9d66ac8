"""Hears of changes, wherever they are made, and tells those who subscribed.

Every write wakes all processes (`announce`). Each reads from the tables what it has not told yet,
as long as anybody listens to it; nothing else need be remembered. Times are of several clocks, so
that what is younger than a moment is looked at again. Whose token was revoked, or who was
deactivated, hears nothing more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from accord.hub.mcp.announce import CHANNEL
from accord.hub.mcp.touched import (
    Place,
    Revision,
    canonical,
    changes_items,
    changes_prompts,
    uris_of,
)
from accord.mcp.server.listeners import PROMPTS_CHANGED, RESOURCES_CHANGED, Change, updated
from accord.mcp.server.server import Server
from accord.operations.accounts.standing import barred
from accord.operations.faces.tools_caller import known_caller
from accord.store.store import Reading, Store

log = logging.getLogger("accord.hub")

SKEW: Final = timedelta(seconds=2)
"""By how much clocks may differ."""
PAGE: Final = 500
MAX_TOLD: Final = 10_000
"""More revisions at once are not told one by one."""
MAX_UNTOLD: Final = 1_000
"""How many changes that nobody listened to are remembered before old ones are forgotten."""
MAX_SPELLINGS: Final = 10_000
MAX_IDS: Final = 500
"""Most ids in one statement."""

SINCE: Final = """
SELECT c.time, r.change_id, r.place, r.entity_id, r.kind, r.reference_id, r.action,
       r.before, r.after
FROM changes c JOIN revisions r ON r.change_id = c.id
WHERE c.time >= $1 AND (c.time, c.id, r.place) > ($1, $2, $3)
ORDER BY c.time, c.id, r.place LIMIT $4
"""
PLACES: Final = """
SELECT i.id, i.kind, i.reference_id, i.parent_id, p.id AS p_id, p.kind AS p_kind,
       p.reference_id AS p_reference_id, p.parent_id AS p_parent_id, g.id AS g_id, g.kind AS g_kind,
       g.reference_id AS g_reference_id, g.parent_id AS g_parent_id
FROM items i LEFT JOIN items p ON p.id = i.parent_id LEFT JOIN items g ON g.id = p.parent_id
WHERE i.id IN ({ids})
"""


class Feed:
    """The changes of one hub, for the clients of one server. `moved` is called for each, whoever
    listens."""

    def __init__(self, server: Server, store: Store, moved: Callable[[], None]) -> None:
        self._server = server
        self._store = store
        self._moved = moved
        self._since = _now()
        self._told: dict[str, str] = {}
        """The times of changes that were told and will be seen again, by their ids."""
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._spelled: dict[str, set[str]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hears of changes while it is open."""
        self._since = _now()
        stop = await self._store.listen(CHANNEL, self._wake)
        try:
            yield
        finally:
            stop()
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)

    def wrote(self, change_id: str) -> None:
        """This process made a change; whoever listens later was there after it."""
        self._moved()
        if not len(self._server.listeners):
            if len(self._told) >= MAX_UNTOLD:
                self._forget(_now())
            self._told[change_id] = _now()

    def watch(self, uri: str) -> None:
        """Somebody wants to hear of a URI, in whatever spelling."""
        known = canonical(uri)
        if known != uri and len(self._spelled) < MAX_SPELLINGS:
            self._spelled.setdefault(known, set()).add(uri)

    def _wake(self) -> None:
        self._moved()
        if not len(self._server.listeners):
            self._since = _now()
        elif self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look())
        else:
            self._again = True

    async def _look(self) -> None:
        try:
            while True:
                self._again = False
                try:
                    await self._tell_all()
                except Exception:
                    log.exception("changes could not be told")
                if not self._again:
                    return
        finally:
            self._task = None

    async def _tell_all(self) -> None:
        began, since, known = _now(), _before(self._since), dict(self._told)
        listeners = self._server.listeners
        revisions, places, times = await self._store.read(lambda db: _untold(db, since, known))
        # Read after the changes: whoever was barred before one of them is not told of it.
        callers = [known_caller(principal) for principal in listeners.principals]
        silent = await self._store.read(lambda db: barred(db, callers))
        listeners.silence(lambda principal: known_caller(principal) in silent)
        changes: dict[Change, None] = {}
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
        self._since = began
        self._told.update(times)
        self._forget(began)

    def _forget(self, now: str) -> None:
        """Let go of changes that are too old to be seen again."""
        oldest = _before(now)
        self._told = {id: time for id, time in self._told.items() if time > oldest}


async def _untold(
    db: Reading, since: str, known: dict[str, str]
) -> tuple[list[Revision], dict[str, Place], dict[str, str]]:
    """What is younger than `since` and not of a known change, where it stands, and the times of
    its changes."""
    place: tuple[str, str, int] = (since, "", -1)
    times: dict[str, str] = {}
    found: list[Revision] = []
    while True:
        rows = await db.fetch(SINCE, *place, PAGE)
        for row in rows:
            if row["change_id"] not in known:
                times[row["change_id"]] = row["time"]
                found.append(_revision(row))
        if len(rows) < PAGE or len(found) > MAX_TOLD:
            break
        place = (rows[-1]["time"], rows[-1]["change_id"], rows[-1]["place"])
    return found, await _places(db, {id for each in found for id in each.items}), times


async def _places(db: Reading, ids: Iterable[str]) -> dict[str, Place]:
    found: dict[str, Place] = {}
    every = sorted(ids)
    for start in range(0, len(every), MAX_IDS):
        some = every[start : start + MAX_IDS]
        sql = PLACES.format(ids=", ".join(f"${number + 1}" for number in range(len(some))))
        for row in await db.fetch(sql, *some):
            for prefix in ("", "p_", "g_"):
                if row[f"{prefix}id"] is not None:
                    place = Place(
                        row[f"{prefix}kind"],
                        row[f"{prefix}id"],
                        row[f"{prefix}reference_id"],
                        row[f"{prefix}parent_id"],
                    )
                    found[place.id] = place
    return found


def _revision(row: Any) -> Revision:
    return Revision(
        kind=row["kind"],
        id=row["entity_id"],
        reference_id=row["reference_id"],
        action=row["action"],
        before=msgspec.json.decode(row["before"]) if row["before"] else {},
        after=msgspec.json.decode(row["after"]) if row["after"] else {},
    )


def _now() -> str:
    return _text(datetime.now(UTC))


def _before(time: str) -> str:
    """A moment before a time, as it is stored."""
    return _text(datetime.fromisoformat(time) - SKEW)


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
