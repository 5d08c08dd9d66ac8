"""A copy of a SQLite file that others use meanwhile: what was committed at one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from accord.store.errors import StoreError
from accord.store.sqlite_connection import connect, translated

PAGES: Final = 4096
"""How many are copied before it is told how far it has come."""


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
