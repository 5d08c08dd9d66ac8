"""Leases of members, of the shards of executors, and of single jobs.

Leases expire by the clock of the database. An executor or worker is a member of the installation as
long as it renews its lease. When the lease has expired, other members may take over its work
without asking it; therefore fences guard all of its writes. Runs are divided into shards, which are
distributed over the live executors.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Mapping, Set as AbstractSet
from contextlib import suppress
from typing import Final, Literal, TypeAlias
from uuid import uuid4
from zlib import crc32

from msgspec import Struct

from accord.store.store import (
    DATABASE_CLOCK,
    Engine,
    ReadTransaction,
    Store,
    StoreError,
    Transaction,
)
from accord.workflows.storage.bulk import IN_NUMBERS, as_parameter

SHARDS: Final = 32
"""The number of shards; it cannot change, because a migration created their rows."""

RENEW_MEMBER: Final = {
    engine: f"""
INSERT INTO members (id, kind, name, since, until) VALUES ($1, $2, $3, {now}, {now} + $4)
ON CONFLICT (id) DO UPDATE SET until = excluded.until
RETURNING id
"""
    for engine, now in DATABASE_CLOCK.items()
}
DELETE_MEMBER: Final = "DELETE FROM members WHERE id = $1 RETURNING id"
DELETE_MEMBERS: Final = "DELETE FROM members RETURNING id"
ANY_MEMBER: Final = {
    engine: f"SELECT 1 FROM members WHERE kind = $1 AND until > {now} LIMIT 1"
    for engine, now in DATABASE_CLOCK.items()
}
FORGET_SECONDS: Final = 3600.0
"""How many seconds the row of a member is kept after its lease has expired."""

EXECUTORS: Final = {
    engine: f"SELECT id FROM members WHERE kind = 'executor' AND until > {now} ORDER BY id"
    for engine, now in DATABASE_CLOCK.items()
}
FORGET_MEMBERS: Final = {
    engine: f"DELETE FROM members WHERE until < {now} - {FORGET_SECONDS}"
    for engine, now in DATABASE_CLOCK.items()
}
ALL_SHARDS: Final = "SELECT shard, owner, fence FROM shards ORDER BY shard"
# A process that was stopped in the middle of a transaction may still lock some: skip them.
SKIP_LOCKED: Final[dict[Engine, str]] = {
    "sqlite": "",
    "postgresql": " FOR UPDATE SKIP LOCKED",
}
TAKE_SHARDS: Final = {
    engine: f"UPDATE shards SET owner = $1, fence = fence + 1 WHERE shard {many.format('$2')}"
    for engine, many in IN_NUMBERS.items()
}
RELEASE_SHARDS: Final = {
    engine: f"UPDATE shards SET owner = NULL WHERE owner = $1 AND shard {many.format('$2')}"
    for engine, many in IN_NUMBERS.items()
}
FENCES: Final[dict[Engine, str]] = {
    "sqlite": f"""
    SELECT shard, fence FROM shards
    WHERE owner = $1 AND shard {IN_NUMBERS["sqlite"].format("$2")} AND $3 <> ''
    """,
    # A decision is written in milliseconds. A process that is idle in its transaction for longer
    # was stopped, and its locks must not keep others from taking over. Planning without sequential
    # scans, because a plan made while a table is small stays cached when it has grown.
    "postgresql": f"""
    SELECT shard, fence,
        (SELECT set_config('idle_in_transaction_session_timeout', $3, true)),
        (SELECT set_config('enable_seqscan', 'off', true)),
        (SELECT set_config('jit', 'off', true))
    FROM shards
    WHERE owner = $1 AND shard {IN_NUMBERS["postgresql"].format("$2")}
    ORDER BY shard
    FOR SHARE
    """,
}


def shard_of(run_id: str) -> int:
    """Return the number of the shard to which a run belongs."""
    return crc32(run_id.encode()) % SHARDS


_TAKE: Final = """
INSERT INTO leases (name, owner, until) VALUES ($1, $2, {now} + $3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE leases.owner = excluded.owner OR leases.until < {now}
RETURNING owner
"""
_RELEASE: Final = "DELETE FROM leases WHERE name = $1 AND owner = $2"


class Lease:
    """A named lease, which one process at a time can hold, for `seconds` after each renewal."""

    def __init__(self, store: Store, name: str, *, seconds: float = 10.0) -> None:
        self._store = store
        self._name = name
        self._seconds = seconds
        self._owner = str(uuid4())
        self._take = _TAKE.format(now=DATABASE_CLOCK[store.engine])
        self._until = 0.0
        self._may_be_held = False

    @property
    def renew_seconds(self) -> float:
        """The interval in seconds at which the holder should renew the lease."""
        return self._seconds / 3

    @property
    def is_held(self) -> bool:
        """True if this process certainly holds the lease; determined without a query."""
        return time.monotonic() < self._until

    async def take(self) -> bool:
        """Take or renew the lease; return False if another process has it.

        Raise StoreError if the query fails.
        """
        begun = time.monotonic()
        if begun + 2 * self.renew_seconds < self._until:
            return True
        self._may_be_held = True  # also if the caller is cancelled before the answer
        got = await self._store.write(self._take, self._name, self._owner, self._seconds)
        self._may_be_held = bool(got)
        # Count from before the query: the lease began at that time or later.
        self._until = begun + self._seconds if got else 0.0
        return bool(got)

    async def release(self) -> None:
        """Release the lease, so that others can take it at once. Raise StoreError on failure."""
        self._until = 0.0
        held, self._may_be_held = self._may_be_held, False
        if held:
            await self._store.write(_RELEASE, self._name, self._owner)


log = logging.getLogger("accord.workflows")

MemberKind: TypeAlias = Literal["executor", "bridge"]

MEMBERS_WAKE: Final = "members"
"""The notification channel that announces members that join or leave."""
MEMBER_LEASE_SECONDS: Final = 10.0
"""The duration of a member's lease, in seconds."""

_RENEWALS: Final = 3
"""The number of renewals of a lease within its duration."""


async def is_alive(store: Store, kind: MemberKind) -> bool:
    """Return True if any member of this kind has a valid lease."""
    return bool(await store.fetch(ANY_MEMBER[store.engine], kind))


async def forget_members(store: Store) -> None:
    """Delete all members, when it is known that none of their processes is running.

    Their work can then be taken over before their leases expire. Raise StoreError on failure.
    """
    await store.write(DELETE_MEMBERS)


class Membership:
    """The membership of a process as an executor or a worker.

    The event `lost` is set while the lease may have expired; a successful renewal clears it.
    """

    def __init__(
        self, store: Store, kind: MemberKind, *, lease: float = MEMBER_LEASE_SECONDS
    ) -> None:
        self.id = str(uuid4())
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.kind = kind
        self.lease = lease
        self.lost = asyncio.Event()
        self._store = store
        self._renewal = RENEW_MEMBER[store.engine]
        self._over: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start renewing the lease. Raise StoreError if the database is unreachable."""
        await self._renew()
        await self._store.notify(MEMBERS_WAKE)
        self._renewing = asyncio.create_task(self._keep_renewing())

    async def close(self) -> None:
        """End the membership, so that others can take over before the lease expires."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._over is not None:
            self._over.cancel()
        self.lost.set()
        with suppress(StoreError):  # its lease will expire anyway
            await self._store.write(DELETE_MEMBER, self.id)
            await self._store.notify(MEMBERS_WAKE)

    async def _keep_renewing(self) -> None:
        pause = self.lease / _RENEWALS
        while True:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(self.lease):
                    await self._renew()
                pause = self.lease / _RENEWALS
            except (StoreError, TimeoutError) as error:
                log.warning("%s %s cannot renew its lease: %s", self.kind, self.name, error)
                pause = self.lease / _RENEWALS**2

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        await self._store.write(self._renewal, self.id, self.kind, self.name, self.lease)
        if self._over is not None:
            self._over.cancel()
        # Count from before the query: the database began the lease at that time or later.
        self._over = loop.call_at(started + self.lease, self.lost.set)
        self.lost.clear()


SHARDS_LANE: Final = "shards"
"""The lane in which transactions that change the distribution of shards run one at a time."""


class _ShardShares(Struct, frozen=True):
    """The shards that an executor has and may take, with fences, and those it must release."""

    mine: dict[int, int]
    free: dict[int, int]
    surplus: list[int]


class Shards:
    """The shards of one executor.

    `fences` maps the number of each shard to its fence, as far as the executor knows.
    """

    def __init__(self, store: Store, membership: Membership) -> None:
        self._store = store
        self._engine = store.engine
        self._me = membership.id
        self._idle = f"{max(int(membership.lease * 1000), 1)}ms"
        self.fences: dict[int, int] = {}

    async def share(self) -> frozenset[int]:
        """Take or release shards, so that each live executor has an equal share.

        Return the shards whose runs must not stay cached, because this executor has lost or
        released the shards, or has lost and regained them. Raise StoreError if a query fails.
        """
        before = self.fences
        # A look without locks first: most of the time there is nothing to change.
        seen = await self._store.read(self._look)
        self.fences = seen.mine
        if seen.free or seen.surplus:
            self.fences, let_go = await self._store.transact(self._share, lane=SHARDS_LANE)
            if let_go:
                await self._store.notify(MEMBERS_WAKE)
        return frozenset(
            shard for shard, fence in before.items() if self.fences.get(shard) != fence
        )

    async def release(self) -> None:
        """Release all shards. Raise StoreError if the query fails."""
        release, held = RELEASE_SHARDS[self._engine], as_parameter(self.fences)
        self.fences = {}
        await self._store.transact(lambda db: db.execute(release, self._me, held), lane=SHARDS_LANE)
        await self._store.notify(MEMBERS_WAKE)

    def lose(self, shards: frozenset[int]) -> None:
        """Remove shards from `fences`, because other executors have taken them over."""
        self.fences = {each: fence for each, fence in self.fences.items() if each not in shards}

    async def check(self, db: Transaction, fences: Mapping[int, int]) -> None:
        """Lock the rows of these shards until the end of the transaction.

        Raise FencedError if another executor has taken over one of them.
        """
        rows = await db.fetch(FENCES[self._engine], self._me, as_parameter(fences), self._idle)
        mine = {row["shard"]: row["fence"] for row in rows}
        lost = {shard for shard, fence in fences.items() if mine.get(shard) != fence}
        if lost:
            raise FencedError(lost)

    async def _look(self, db: ReadTransaction, lock: str = "") -> _ShardShares:
        live = [row["id"] for row in await db.fetch(EXECUTORS[self._engine])]
        rows = await db.fetch(ALL_SHARDS + lock)
        mine = {row["shard"]: row["fence"] for row in rows if row["owner"] == self._me}
        if self._me not in live:  # its lease has expired: it takes nothing
            return _ShardShares(mine, {}, [])
        room = _share_of(live, self._me) - len(mine)
        free = {row["shard"]: row["fence"] for row in rows if row["owner"] not in live}
        return _ShardShares(
            mine, dict(list(free.items())[: max(room, 0)]), sorted(mine)[: max(-room, 0)]
        )

    async def _share(self, db: Transaction) -> tuple[dict[int, int], bool]:
        await db.execute(FORGET_MEMBERS[self._engine])
        seen = await self._look(db, SKIP_LOCKED[self._engine])
        if seen.free:
            await db.execute(TAKE_SHARDS[self._engine], self._me, as_parameter(seen.free))
        if seen.surplus:
            await db.execute(RELEASE_SHARDS[self._engine], self._me, as_parameter(seen.surplus))
        # Taking a shard raises its fence, so the former owner can write nothing more.
        taken_over = {shard: fence + 1 for shard, fence in seen.free.items()}
        retained = {shard: fence for shard, fence in seen.mine.items() if shard not in seen.surplus}
        return retained | taken_over, bool(seen.surplus)


def _share_of(live: list[str], me: str) -> int:
    """Return the number of shards that a member should have."""
    least, more = divmod(SHARDS, len(live))
    return least + (live.index(me) < more)


class FencedError(Exception):
    """Another executor has taken over shards whose runs were decided on; nothing was written."""

    def __init__(self, shards: AbstractSet[int]) -> None:
        listed = ", ".join(map(str, sorted(shards)))
        super().__init__(f"another executor decides on shards {listed} now")
        self.shards = frozenset(shards)
