"""Shards, and the members that share them.

Runs are shared out among executors by shards, each decided on by one of them at a time.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from accord.store.store import NOW, Engine
from accord.workflows.storage.lists import IN_NUMBERS

SHARDS: Final = 32
"""As many as the migration makes rows: it cannot change while there are runs."""

RENEW_MEMBER: Final = {
    engine: f"""
INSERT INTO members (id, kind, name, since, until) VALUES ($1, $2, $3, {now}, {now} + $4)
ON CONFLICT (id) DO UPDATE SET until = excluded.until
RETURNING id
"""
    for engine, now in NOW.items()
}
DELETE_MEMBER: Final = "DELETE FROM members WHERE id = $1 RETURNING id"
DELETE_MEMBERS: Final = "DELETE FROM members RETURNING id"
ANY_MEMBER: Final = {
    engine: f"SELECT 1 FROM members WHERE kind = $1 AND until > {now} LIMIT 1"
    for engine, now in NOW.items()
}
FORGET_SECONDS: Final = 3600.0
"""How long a member is remembered whose lease is over."""

EXECUTORS: Final = {
    engine: f"SELECT id FROM members WHERE kind = 'executor' AND until > {now} ORDER BY id"
    for engine, now in NOW.items()
}
FORGET_MEMBERS: Final = {
    engine: f"DELETE FROM members WHERE until < {now} - {FORGET_SECONDS}"
    for engine, now in NOW.items()
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
    """The shard of a run."""
    return crc32(run_id.encode()) % SHARDS
