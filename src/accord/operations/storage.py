"""SQL of the tables that belong to no package of operations: settings, and idempotency keys."""

from __future__ import annotations

from typing import Final

FIND_SETTING: Final = "SELECT value FROM settings WHERE name = $1"
INSERT_SETTING: Final = "INSERT INTO settings (name, value) VALUES ($1, $2)"

FIND_CALL: Final = """
SELECT request_hash, change_id, result FROM idempotency
WHERE user_id = $1 AND key = $2 AND created_at >= $3
"""
KEEP_CALL: Final = """
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
