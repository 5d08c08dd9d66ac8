"""Databases as the first release left them, when its server was killed in the middle of its work."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg

FOLDER = Path(__file__).parent / "first_release"
KNOWN: dict[str, Any] = json.loads((FOLDER / "known.json").read_text())
KEY = {"ACCORD_SECRET_KEY": KNOWN["key"]}


def make_sqlite(data: Path) -> None:
    """A data directory of the first release."""
    data.mkdir(mode=0o700)
    (data / "key").write_text(f"{KNOWN['key']}\n")
    (data / "key").chmod(0o600)
    with closing(sqlite3.connect(data / "accord.db")) as connection:
        connection.executescript((FOLDER / "sqlite.sql").read_text())


async def make_postgres(url: str) -> None:
    """Its tables and rows, in an empty database."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute((FOLDER / "postgresql.sql").read_text())
    finally:
        await connection.close()


async def make(data: Path, url: str) -> None:
    """Either, as `url` says."""
    if url:
        await make_postgres(url)
    else:
        await asyncio.to_thread(make_sqlite, data)
