"""The database of an installation: its migrations, the lock of its data directory, its metrics.

With SQLite, only one server can use a data directory, and none while it is being restored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from accord.store.store import Store
from accord.telemetry.metrics import Exposition, Kind

MIGRATIONS: Final[dict[str, Traversable]] = {
    "operations": files("accord.operations") / "migrations",
    "hub": files("accord.hub") / "migrations",
    "workflows": files("accord.workflows") / "migrations",
}
"""The folders with migrations, by part of the system."""


LOCK_FILE: Final = "server.lock"


class InUseError(Exception):
    """A server already uses the data directory."""

    def __init__(self, data: Path, process: str) -> None:
        which = f" (process {process})" if process.isdigit() else ""
        super().__init__(f"another server{which} uses {data}")


@contextmanager
def lock_data_directory(data: Path) -> Iterator[None]:
    """Hold the lock of an existing data directory.

    Raises InUseError if a server holds it.
    """
    import fcntl  # POSIX only

    # The kernel releases the lock when a process dies, so a crash leaves no stale lock. The file is
    # never removed: another process could hold a lock on the removed one.
    fd = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(data, os.read(fd, 20).decode("ascii", "replace")) from None
        os.ftruncate(fd, 0)
        os.write(fd, str(os.getpid()).encode())
        yield
    finally:
        os.close(fd)


def is_served(data: Path) -> bool:
    """Return True if a server uses the data directory with SQLite."""
    import fcntl  # POSIX only

    try:
        fd = os.open(data / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


class StoreMetrics:
    """Metrics of one store."""

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
