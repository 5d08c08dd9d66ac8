"""The shards of an executor, and their distribution among executors."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from typing import Final

from msgspec import Struct

from accord.store.store import ReadTransaction, Store, Transaction
from accord.workflows.membership import WAKE, Membership
from accord.workflows.storage.bulk import as_parameter
from accord.workflows.storage.leases import (
    ALL_SHARDS,
    EXECUTORS,
    FENCES,
    FORGET_MEMBERS,
    RELEASE_SHARDS,
    SHARDS,
    SKIP_LOCKED,
    TAKE_SHARDS,
)

LANE: Final = "shards"
"""The lane of the lock by which only one executor at a time changes the distribution."""


class _Membership(Struct, frozen=True):
    """The shards that an executor has, may take and must release, with their fences."""

    mine: dict[int, int]
    free: dict[int, int]
    surplus: list[int]


class Shards:
    """The shards of one executor; `fences` are those it has, as far as it knows."""

    def __init__(self, store: Store, membership: Membership) -> None:
        self._store = store
        self._engine = store.engine
        self._me = membership.id
        self._idle = f"{max(int(membership.lease * 1000), 1)}ms"
        self.fences: dict[int, int] = {}

    async def share(self) -> frozenset[int]:
        """Take and release shards, so that all executors have their share.

        Return the shards that other executors have, or had in between. Raise StoreError.
        """
        before = self.fences
        seen = await self._store.read(self._look)
        self.fences = seen.mine
        if seen.free or seen.surplus:
            self.fences, let_go = await self._store.transact(self._share, lane=LANE)
            if let_go:
                await self._store.notify(WAKE)
        return frozenset(
            shard for shard, fence in before.items() if self.fences.get(shard) != fence
        )

    async def release(self) -> None:
        """Release all shards. Raise StoreError."""
        release, held = RELEASE_SHARDS[self._engine], as_parameter(self.fences)
        self.fences = {}
        await self._store.transact(lambda db: db.execute(release, self._me, held), lane=LANE)
        await self._store.notify(WAKE)

    def lose(self, shards: frozenset[int]) -> None:
        """Forget shards that other executors have."""
        self.fences = {each: fence for each, fence in self.fences.items() if each not in shards}

    async def check(self, db: Transaction, fences: Mapping[int, int]) -> None:
        """Lock the fences of these shards until the transaction is over.

        Raise FencedError if other executors have taken over any of them.
        """
        rows = await db.fetch(FENCES[self._engine], self._me, as_parameter(fences), self._idle)
        mine = {row["shard"]: row["fence"] for row in rows}
        lost = {shard for shard, fence in fences.items() if mine.get(shard) != fence}
        if lost:
            raise FencedError(lost)

    async def _look(self, db: ReadTransaction, lock: str = "") -> _Membership:
        live = [row["id"] for row in await db.fetch(EXECUTORS[self._engine])]
        rows = await db.fetch(ALL_SHARDS + lock)
        mine = {row["shard"]: row["fence"] for row in rows if row["owner"] == self._me}
        if self._me not in live:  # its lease is over: it takes nothing
            return _Membership(mine, {}, [])
        room = _share_of(live, self._me) - len(mine)
        free = {row["shard"]: row["fence"] for row in rows if row["owner"] not in live}
        return _Membership(
            mine, dict(list(free.items())[: max(room, 0)]), sorted(mine)[: max(-room, 0)]
        )

    async def _share(self, db: Transaction) -> tuple[dict[int, int], bool]:
        await db.execute(FORGET_MEMBERS[self._engine])
        seen = await self._look(db, SKIP_LOCKED[self._engine])
        if seen.free:
            await db.execute(TAKE_SHARDS[self._engine], self._me, as_parameter(seen.free))
        if seen.surplus:
            await db.execute(RELEASE_SHARDS[self._engine], self._me, as_parameter(seen.surplus))
        taken = {shard: fence + 1 for shard, fence in seen.free.items()}
        kept = {shard: fence for shard, fence in seen.mine.items() if shard not in seen.surplus}
        return kept | taken, bool(seen.surplus)


def _share_of(live: list[str], me: str) -> int:
    """Return how many shards a member is to have."""
    least, more = divmod(SHARDS, len(live))
    return least + (live.index(me) < more)


class FencedError(Exception):
    """Other executors have taken over shards of a decision; nothing was written."""

    def __init__(self, shards: AbstractSet[int]) -> None:
        listed = ", ".join(map(str, sorted(shards)))
        super().__init__(f"another executor decides on shards {listed} now")
        self.shards = frozenset(shards)
