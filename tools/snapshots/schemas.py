"""The tables of both databases, after all migrations."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from accord.app.database import MIGRATIONS
from accord.mcp.server import cluster
from accord.mcp.server.cluster.cluster import PART
from accord.store import Store, open_store

FOLDERS: Final[dict[str, Traversable]] = {
    **MIGRATIONS,
    PART: files(cluster) / "migrations",
}
"""Migrations of every part; the last are run where several processes serve MCP."""

_SQLITE: Final = """
SELECT type, name, tbl_name, sql FROM sqlite_master
WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND NOT EXISTS (
    -- The tables that FTS5 keeps for itself differ between versions of SQLite.
    SELECT 1 FROM sqlite_master AS search
    WHERE search.sql LIKE 'CREATE VIRTUAL%' AND sqlite_master.name LIKE search.name || '_%'
)
ORDER BY tbl_name, type DESC, name
"""
_COLUMNS: Final = """
SELECT c.table_name AS name, '  ' || c.column_name || ' ' || format_type(a.atttypid, a.atttypmod)
    || CASE c.is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END
    || coalesce(' COLLATE ' || c.collation_name, '')
    || coalesce(' DEFAULT ' || c.column_default, '')
    || coalesce(' GENERATED ALWAYS AS (' || c.generation_expression || ')', '')
    || CASE c.is_identity WHEN 'YES' THEN ' IDENTITY ' || c.identity_generation ELSE '' END AS line
FROM information_schema.columns c
JOIN pg_class t ON t.relname = c.table_name AND t.relnamespace = 'public'::regnamespace
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = c.column_name
WHERE c.table_schema = 'public' AND t.relkind IN ('r', 'p')
ORDER BY c.table_name, c.ordinal_position
"""
_REST: Final = (
    # What PostgreSQL 18 lists of columns that are NOT NULL is with the columns.
    """
    SELECT t.relname AS name, '  ' || pg_get_constraintdef(c.oid) AS line
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    WHERE t.relnamespace = 'public'::regnamespace AND c.contype <> 'n' ORDER BY 1, 2
    """,
    """
    SELECT tablename AS name, '  ' || indexdef AS line FROM pg_indexes
    WHERE schemaname = 'public' ORDER BY 1, indexname
    """,
    """
    SELECT c.relname AS name, '  ' || pg_get_triggerdef(t.oid) AS line
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal ORDER BY 1, t.tgname
    """,
)
_FUNCTIONS: Final = """
SELECT pg_get_functiondef(p.oid) AS line FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace AND NOT EXISTS (
    SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e'
) ORDER BY p.proname
"""
_MORE: Final = """
SELECT 'EXTENSION ' || extname AS line FROM pg_extension WHERE extname <> 'plpgsql'
UNION ALL
SELECT 'SEQUENCE ' || sequencename || ' ' || data_type FROM pg_sequences
WHERE schemaname = 'public'
UNION ALL
SELECT 'VIEW ' || viewname || ' ' || definition FROM pg_views WHERE schemaname = 'public'
ORDER BY 1
"""


async def sqlite() -> str:
    """The statements of a SQLite file, by table."""
    with TemporaryDirectory() as folder:
        async with open_store(f"sqlite://{Path(folder)}/accord.db", durable=False) as store:
            await _migrate(store)
            rows = await store.fetch(_SQLITE)
            return "\n".join(f"{_trimmed(row['sql'])};\n" for row in rows)


async def postgresql(url: str) -> str:
    """Columns, constraints, indexes and triggers by table, then functions and what else there is,
    of an empty database that is given tables."""
    async with open_store(url, durable=False) as store:
        await _migrate(store)
        columns = await store.fetch(_COLUMNS)
        rest = [row for query in _REST for row in await store.fetch(query)]
        functions = await store.fetch(_FUNCTIONS)
        more = await store.fetch(_MORE)
    tables = []
    for name, rows in groupby(columns, lambda row: row["name"]):
        lines = [row["line"] for row in rows] + [r["line"] for r in rest if r["name"] == name]
        tables.append("\n".join([f"TABLE {name}", *lines]))
    others = [row["line"] for row in (*functions, *more)]
    return "".join(f"{_trimmed(each)}\n\n" for each in (*tables, *others)).rstrip() + "\n"


async def _migrate(store: Store) -> None:
    for part, folder in FOLDERS.items():
        await store.migrate(part, folder)


def _trimmed(sql: str) -> str:
    return "\n".join(map(_line, sql.strip().splitlines()))


def _line(text: str) -> str:
    """A line of SQL. SQLite keeps all columns that were added later on one, which is split."""
    added = re.sub(r", (?=\w+ (?:text|integer|real|blob)\b)", ",\n    ", text)
    return (added if text.startswith(", ") else text).rstrip()
