"""SQL about the database itself: version, clock, schemas, connections."""

from __future__ import annotations

from typing import Final

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
