"""Leases by the clock of the database: members, their shards, and single tasks for one process."""

from __future__ import annotations

import time
from typing import Final
from uuid import uuid4
from zlib import crc32

from accord.store.store import DATABASE_CLOCK, Engine, Store
from accord.workflows.storage.bulk import IN_NUMBERS

SHARDS: Final = 32
"""As many as the migration makes rows: it cannot change while there are runs."""

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
"""How long a member is remembered whose lease is over."""

EXECUTORS: Final = {
    engine: f"SELECT id FROM members WHERE kind = 'executor' AND until > {now} ORDER BY id"
    for engine, now in DATABASE_CLOCK.items()
}
FORGET_MEMBERS: Final = {
    engine: f"DELETE FROM members WHERE until < {now} - {FORGET_SECONDS}"
    for engine, now in DATABASE_CLOCK.items()
}
ALL_SHARDS: Final = "SELECT shard, owner, fence FROM shards ORDER BY shard"
# A process that was stopped in the middle of a transaction still holds some: others go on.
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
    # What is done is done in milliseconds; who does nothing for longer was stopped, and must not
    # keep others from taking over. And a plan that is made while a table is small would read all
    # of it, and is kept when it has grown.
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
    """Return the shard of a run."""
    return crc32(run_id.encode()) % SHARDS


_TAKE: Final = """
INSERT INTO leases (name, owner, until) VALUES ($1, $2, {now} + $3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE leases.owner = excluded.owner OR leases.until < {now}
RETURNING owner
"""
_RELEASE: Final = "DELETE FROM leases WHERE name = $1 AND owner = $2"


class Lease:
    """An exclusive right for `seconds` at a time."""

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
        """The interval in seconds after which the holder renews the lease."""
        return self._seconds / 3

    @property
    def is_held(self) -> bool:
        """True if no other process can have the lease; known without a query."""
        return time.monotonic() < self._until

    async def take(self) -> bool:
        """Take or renew the lease; return False if another process has it. Raise StoreError."""
        begun = time.monotonic()
        if begun + 2 * self.renew_seconds < self._until:
            return True
        self._may_be_held = True  # also if nobody waits for the answer any more
        got = await self._store.write(self._take, self._name, self._owner, self._seconds)
        self._may_be_held = bool(got)
        # Counted from before the database was asked: what it says is older than its answer.
        self._until = begun + self._seconds if got else 0.0
        return bool(got)

    async def release(self) -> None:
        """Release the lease at once. Raise StoreError."""
        self._until = 0.0
        held, self._may_be_held = self._may_be_held, False
        if held:
            await self._store.write(_RELEASE, self._name, self._owner)
