"""SQL about the database itself: applied migrations, version, clock, schemas, connections.

Migrations are numbered .sql files, run in order and once each.

    0001_carts.sql
    0002_prices.sqlite.sql
    0002_prices.postgresql.sql

A file with the name of an engine is for that engine only; each number exists once per engine. The
table `accord_migrations` records the applied migrations of each part of the application.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from typing import Final

from msgspec import Struct

from accord.store.store import Engine, StoreError

PING: Final = "SELECT 1"

QUICK_CHECK: Final = "PRAGMA quick_check(1)"
SERVER_CLOCK: Final = """
SELECT current_setting('server_version') AS version,
       extract(epoch FROM clock_timestamp())::float8 AS now
"""
SERVER_MAJOR: Final = "SELECT current_setting('server_version_num')::integer / 10000 AS major"
CURRENT_SCHEMA: Final = "SELECT current_schema() AS schema"
FIRST_RELATION: Final = """
SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 ORDER BY c.relname LIMIT 1
"""
OTHER_CONNECTIONS: Final = """
SELECT count(*) AS others FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'accord' AND pid <> pg_backend_pid()
"""
EXPORT_SNAPSHOT: Final = """
SELECT current_schema() AS schema, pg_export_snapshot() AS snapshot,
    current_setting('server_version_num')::integer / 10000 AS major
"""
# The transaction that exported a snapshot must last until pg_dump has ended.
NO_IDLE_TIMEOUT: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"


def rename_schema(old: str, new: str) -> str:
    """Return the statement that renames a schema of PostgreSQL."""
    return f"ALTER SCHEMA {_quoted(old)} RENAME TO {_quoted(new)}"


def create_schema(name: str) -> str:
    """Return the statement that creates a schema of PostgreSQL."""
    return f"CREATE SCHEMA {_quoted(name)}"


def drop_schema(name: str) -> str:
    """Return the statement that removes an empty schema of PostgreSQL."""
    return f"DROP SCHEMA {_quoted(name)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


TABLE: Final = """
CREATE TABLE IF NOT EXISTS accord_migrations (
    part text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (part, number)
)
"""
EXISTS: Final[dict[Engine, str]] = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'accord_migrations'",
    "postgresql": "SELECT 1 FROM pg_tables WHERE tablename = 'accord_migrations' "
    "AND schemaname = ANY (current_schemas(false))",
}
APPLIED: Final = "SELECT number, name FROM accord_migrations WHERE part = $1"
ALL_APPLIED: Final = "SELECT part, number, name FROM accord_migrations ORDER BY part, number"
RECORD: Final = "INSERT INTO accord_migrations (part, number, name) VALUES ($1, $2, $3)"

_NAME: Final = re.compile(r"(\d{4})_(\w+?)(?:\.(sqlite|postgresql))?\.sql")


class Migration(Struct, frozen=True):
    number: int
    name: str
    sql: str


def migrations(folder: Traversable, engine: Engine) -> list[Migration]:
    """Return the migrations of a folder for one engine, in order.

    Raises StoreError for missing or duplicate numbers.
    """
    found = []
    for file in folder.iterdir():
        match = _NAME.fullmatch(file.name)
        if match is not None and match[3] in (None, engine):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    found.sort(key=lambda migration: migration.number)
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(found) + 1)):
        raise StoreError(
            f"the migrations in {folder} are numbered {numbers}, not from 1 without gaps"
        )
    return found


def pending_migrations(
    known: list[Migration], applied: dict[int, str], part: str
) -> list[Migration]:
    """Return the migrations in `known` that were not applied yet.

    Raises StoreError if an applied migration is not in `known`, or has another name there.
    """
    for number, name in applied.items():
        if number > len(known):
            raise StoreError(
                f"the database has migration {number} of {part} ({name}), which this release does "
                "not know: use the release that wrote it, or a newer one"
            )
        if known[number - 1].name != name:
            raise StoreError(
                f"migration {number} of {part} is {name} in the database and "
                f"{known[number - 1].name} here"
            )
    return [migration for migration in known if migration.number not in applied]
