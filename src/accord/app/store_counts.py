"""What the database had to do, for Prometheus."""

from __future__ import annotations

from accord.store.store import Store
from accord.telemetry.metrics import Exposition, Kind


class StorePage:
    """Shows the counts of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, page: Exposition) -> None:
        counts, load = self._store.counts, self._store.load
        families: tuple[tuple[str, Kind, str, float], ...] = (
            ("transactions_total", "counter", "Transactions that were run.", counts.transactions),
            (
                "wait_seconds_total",
                "counter",
                "How long they waited for their turn, together.",
                counts.waited,
            ),
            (
                "commits_total",
                "counter",
                "Commits; one may be for many transactions.",
                counts.commits,
            ),
            (
                "failed_commits_total",
                "counter",
                "Commits that failed, with all that was in them.",
                counts.failed_commits,
            ),
            (
                "conflicts_total",
                "counter",
                "Transactions that were run again because others were in their way.",
                counts.conflicts,
            ),
            ("waiting", "gauge", "Transactions that wait for their turn.", load.waiting),
        )
        for name, kind, about, value in families:
            page.family(f"accord_store_{name}", kind, about, [((), value)])
        pool = (((("state", "busy"),), load.busy), ((("state", "idle"),), load.idle))
        page.family(
            "accord_store_connections",
            "gauge",
            "Connections to PostgreSQL.",
            pool if load.most else (),
        )
        page.family(
            "accord_store_connections_limit",
            "gauge",
            "How many there may be.",
            [((), load.most)] if load.most else (),
        )
