"""SQL of triggers, and of the deliveries to webhooks that are known."""

from __future__ import annotations

from typing import Final

WAKE: Final = "triggers"
"""The channel on which everybody hears that triggers were saved."""

TRIGGER_COLUMNS: Final = (
    *("id", "workflow", "version", "kind", "name", "spec", "input"),
    *("user_id", "username", "scopes"),
)
"""Columns that the audit trail proves: all but the time, which changes on its own."""
COLUMNS: Final = ", ".join((*TRIGGER_COLUMNS, "next_at"))

AT_ONCE: Final = 100
"""Schedules that are read at once."""
SWEPT: Final = 10
"""Old deliveries removed with each new one, at most."""

TIMES: Final = "SELECT id, next_at FROM triggers WHERE workflow = $1"
VERSIONS: Final = "SELECT DISTINCT version FROM triggers WHERE workflow = $1"
DELETE: Final = "DELETE FROM triggers WHERE workflow = $1"
WEBHOOK_OWNER: Final = "SELECT workflow FROM triggers WHERE kind = 'webhook' AND name = $1"
INSERT: Final = f"""
INSERT INTO triggers ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
EVENT_NAMES: Final = "SELECT DISTINCT name FROM triggers WHERE kind = 'event'"
FOR_EVENTS: Final = f"""
SELECT {COLUMNS} FROM triggers WHERE kind = 'event' AND name IN ({{places}}) ORDER BY id
"""
DUE: Final = f"""
SELECT {COLUMNS} FROM triggers WHERE next_at <= $1 ORDER BY next_at, id LIMIT {AT_ONCE}
"""
NEXT_TIME: Final = "SELECT min(next_at) AS next_at FROM triggers WHERE next_at IS NOT NULL"
MOVE: Final = "UPDATE triggers SET next_at = $3 WHERE id = $1 AND next_at = $2"
PROVEN_TRIGGERS: Final = f"""
SELECT {", ".join(TRIGGER_COLUMNS)} FROM triggers
WHERE workflow = $1 ORDER BY id
"""

OF_WEBHOOK: Final = f"SELECT {COLUMNS} FROM triggers WHERE kind = 'webhook' AND name = $1"
FIND_DELIVERY: Final = """
SELECT run_id FROM webhook_deliveries WHERE trigger_id = $1 AND key IN ($2, $3)
"""
INSERT_DELIVERY: Final = """
INSERT INTO webhook_deliveries (trigger_id, key, run_id, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (trigger_id, key) DO NOTHING
"""
SWEEP_DELIVERIES: Final = f"""
DELETE FROM webhook_deliveries WHERE (trigger_id, key) IN (
    SELECT trigger_id, key FROM webhook_deliveries WHERE created_at < $1
    ORDER BY created_at LIMIT {SWEPT}
)
"""
