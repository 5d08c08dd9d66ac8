"""A SQLite without full text search says so."""

from __future__ import annotations

import sqlite3

from accord.store.errors import StoreError
from accord.store.sqlite_connection import translation


def test_a_sqlite_without_full_text_search_is_told_by_name() -> None:
    error = translation(sqlite3.OperationalError("no such module: fts5"))
    assert type(error) is StoreError
    assert str(error) == (
        f"SQLite {sqlite3.sqlite_version} of this Python has no full text search (FTS5): use "
        "another build of Python, or PostgreSQL"
    )
