"""SQL of the tables of stored settings, idempotency keys and rate limits."""

from __future__ import annotations

from typing import Final

LANE: Final = "operations"
"""The lane of all writes by operations; on every database, writes in a lane run one by one."""

FIND_SETTING: Final = "SELECT value FROM settings WHERE name = $1"
INSERT_SETTING: Final = "INSERT INTO settings (name, value) VALUES ($1, $2)"

FIND_CALL: Final = """
SELECT request_hash, change_id, result FROM idempotency
WHERE user_id = $1 AND key = $2 AND created_at >= $3
"""
STORE_CALL: Final = """
INSERT INTO idempotency (user_id, key, request_hash, change_id, result, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (user_id, key) DO UPDATE
SET request_hash = excluded.request_hash, change_id = excluded.change_id,
    result = excluded.result, created_at = excluded.created_at
"""
SWEEP_CALLS: Final = """
DELETE FROM idempotency
WHERE (user_id, key) IN (
    SELECT user_id, key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2
)
"""

# The time is read from `excluded`, so that all parts of the statement use the same.
TAKE_FROM_BUCKET: Final = """
INSERT INTO rate_buckets AS b (key, full_at) VALUES ($1, {now} + $2)
ON CONFLICT (key) DO UPDATE
SET full_at = CASE WHEN b.full_at > excluded.full_at - $2 THEN b.full_at + $2
                   ELSE excluded.full_at END
WHERE b.full_at + $2 <= excluded.full_at - $2 + $3
RETURNING full_at - {now} AS missing
"""
READ_BUCKET: Final = "SELECT full_at - {now} AS missing FROM rate_buckets WHERE key = $1"
SWEEP_BUCKETS: Final = """
DELETE FROM rate_buckets
WHERE key IN (SELECT key FROM rate_buckets WHERE full_at < {now} ORDER BY full_at LIMIT $1)
"""
