"""The clock of the database, by which leases run: machines need not agree on the time."""

from __future__ import annotations

from typing import Final

from accord.store.store import Engine

NOW: Final[dict[Engine, str]] = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "(extract(epoch FROM clock_timestamp())::double precision)",
}
"""SQL for the time, in seconds since 1970."""
