"""SQL that counts what is not done yet, and runs by state."""

from __future__ import annotations

from typing import Final, get_args

from accord.store.store import NOW
from accord.workflows.core.state import RunStatus

MOST_LETTERS: Final = 10_000
"""Dead letters that are counted at most."""

LIVE: Final = tuple(
    status for status in get_args(RunStatus) if status not in ("completed", "failed", "cancelled")
)
QUEUED: Final = ("published", "ready", "running")

# One search of an index for each state: grouping would read all runs there ever were.
RUNS: Final = " UNION ALL ".join(
    f"SELECT '{status}' AS label, COUNT(*) AS value FROM runs WHERE status = '{status}'"
    for status in LIVE
)
TASKS: Final = " UNION ALL ".join(
    f"SELECT '{state}' AS label, COUNT(*) AS value FROM tasks WHERE state = '{state}'"
    for state in QUEUED
)
OLDEST_TASK: Final = "SELECT MIN(created_at) AS at FROM tasks WHERE state = 'ready' AND due <= $1"
INBOX: Final = "SELECT COUNT(*) AS value FROM run_inbox"
OLDEST_MESSAGE: Final = "SELECT arrival FROM run_inbox ORDER BY id LIMIT 1"
OVERDUE: Final = "SELECT MIN(next_timer) AS at FROM runs WHERE next_timer <= $1"
APPROVALS: Final = "SELECT COUNT(*) AS value FROM approvals WHERE state = 'open'"
LETTERS: Final = f"""
SELECT kind AS label, COUNT(*) AS value FROM (
    SELECT kind FROM dead_letters WHERE replayed_at IS NULL LIMIT {MOST_LETTERS}
) AS kept GROUP BY kind
"""
MEMBERS: Final = {
    engine: f"""
SELECT kind AS label, COUNT(*) AS value FROM members WHERE until > {now} GROUP BY kind
"""
    for engine, now in NOW.items()
}
RUNS_SINCE: Final = " UNION ALL ".join(
    f"SELECT '{status}' AS status, COUNT(*) AS total FROM runs "
    f"WHERE status = '{status}' AND created_at >= $1"
    for status in get_args(RunStatus)
)
