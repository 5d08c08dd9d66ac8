"""A copy of a SQLite file that others use meanwhile: what was committed at one moment."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from accord.store.errors import StoreError
from accord.store.sqlite_connection import STATEMENTS, connect, translated

MEMORY_KIB: Final = 64 * 1024
"""How much of a copy that is soon forgotten is kept in memory, at most."""
PAGES: Final = 4096
"""How many are copied before it is told how far it has come."""


@contextmanager
def scratch_copy(source: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to a copy of the file `source`, in a transaction; the copy is gone with the
    block, whatever becomes of this process. Raises StoreError."""
    handle, name = mkstemp(prefix=f".{source.name}.", suffix=".rehearsal", dir=source.parent)
    os.close(handle)
    target = Path(name)
    try:
        with (
            translated(),
            closing(connect(source, durable=True)) as reading,
            closing(_scratch(target)) as writing,
        ):
            reading.backup(writing)
            # The copy says that it has a log beside it, which it could not find any more.
            for setting in ("journal_mode = MEMORY", "foreign_keys = ON"):
                writing.execute(f"PRAGMA {setting}").fetchall()
            target.unlink()  # what is open stays there until it is closed
            writing.execute("BEGIN")
            yield writing
    finally:
        target.unlink(missing_ok=True)


def _scratch(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=STATEMENTS)
    connection.row_factory = sqlite3.Row
    for setting in ("synchronous = OFF", f"cache_size = -{MEMORY_KIB}"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    return connection


def copy_sqlite(
    source: Path, target: Path, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Copy the file `source`; `progress` is told how many of how many bytes are done. Raises
    StoreError, also where the file is damaged."""
    with (
        translated(),
        closing(connect(source, durable=True)) as reading,
        closing(sqlite3.connect(target, isolation_level=None)) as writing,
    ):
        [size] = reading.execute("PRAGMA page_size").fetchone()
        # What is read from here on is of one moment; else each write of others would begin the
        # copy anew.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reading.backup(
            writing,
            pages=PAGES,
            progress=lambda status, left, total: progress((total - left) * size, total * size),
        )
        reading.execute("COMMIT")
        [found] = writing.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise StoreError(f"{source} is damaged: {found}")
