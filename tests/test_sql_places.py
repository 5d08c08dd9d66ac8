"""SQL is in storage modules; in the hub and in the pages only they run statements.

A storage module is named `storage` or lies in a package of that name. `OWN_TABLES` names the few
others that are the storage of something: take a module off with its last statement, and add none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"

OWN_TABLES = frozenset(
    {
        # Sessions, streams, tasks and mailboxes that several MCP servers share.
        "accord.mcp.server.cluster.cluster",
        "accord.mcp.server.cluster.events",
        "accord.mcp.server.cluster.sessions",
        "accord.mcp.server.cluster.worker",
    }
)

STATEMENT = re.compile(
    r"\bSELECT\s|\bINSERT\s+(?:OR\s+\w+\s+)?INTO\b|\bUPDATE\s+\S+\s+SET\b|\bDELETE\s+FROM\b"
    r"|\b(?:CREATE|DROP|ALTER)\s+(?:UNIQUE\s+|TEMP\s+|VIRTUAL\s+)?(?:TABLE|INDEX|VIEW)\b"
    r"|^\s*(?:SAVEPOINT|ROLLBACK|RELEASE|BEGIN|COMMIT|PRAGMA|VACUUM|ANALYZE|NOTIFY|LISTEN)\b"
    r"|^\s*(?:WHERE|ORDER\s+BY|GROUP\s+BY|HAVING|(?:LEFT\s+)?JOIN|UNION|LIMIT|ON\s+CONFLICT)\s"
)
METHODS = frozenset({"execute", "execute_later", "execute_many", "fetch", "fetch_now"})
"""The methods of stores and transactions that take a statement."""


def sql_of(tree: ast.AST) -> Iterator[str]:
    """Yield the beginning of each text that looks like SQL."""
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in prose:
                if STATEMENT.search(text):
                    yield f"line {node.lineno}: {' '.join(text.split())[:60]}"


def runs_of(tree: ast.AST) -> Iterator[str]:
    """Yield each call that runs a statement."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method)) if method in METHODS:
                yield f"line {node.lineno}: .{method}(…)"


def trees() -> dict[str, ast.Module]:
    """Return all modules but storage modules and the drivers in `accord.store`, by dotted name."""
    names = {
        ".".join(file.relative_to(SOURCE).with_suffix("").parts): file
        for file in sorted((SOURCE / "accord").rglob("*.py"))
    }
    return {
        name: ast.parse(file.read_text(encoding="utf-8"))
        for name, file in names.items()
        if "storage" not in name.split(".") and not name.startswith("accord.store.")
    }


def test_only_storage_modules_have_sql() -> None:
    found = {name: lines for name, tree in trees().items() if (lines := list(sql_of(tree)))}
    unexpected = found.keys() - OWN_TABLES
    assert not unexpected, {name: found[name] for name in sorted(unexpected)}
    without = OWN_TABLES - found.keys()
    assert not without, f"take these off the list, they have no SQL any more: {sorted(without)}"


def test_only_storage_modules_of_the_hub_and_none_of_the_pages_run_statements() -> None:
    found = {
        name: lines
        for name, tree in trees().items()
        if name.startswith(("accord.hub.", "accord.web.")) and (lines := list(runs_of(tree)))
    }
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        'SQL = "SELECT name FROM labels"',
        'SQL = f"{COUNT} WHERE {by} LIMIT 1"',
        'SQL = f"SELECT * FROM {table}"',
        'SQL = "ORDER BY i.number LIMIT 20"',
        'SQL = "INSERT OR IGNORE INTO search_words (word) VALUES ($1)"',
        'SQL = "UPDATE counters SET last = $2"',
        'SQL = "DELETE FROM labels"',
        'SQL = "SAVEPOINT trial"',
    ],
)
def test_sql_is_found(line: str) -> None:
    assert list(sql_of(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ["rows = await work.db.fetch(labels.ALL)", "await db.execute_later(statement)"]
)
def test_calls_that_run_statements_are_found(line: str) -> None:
    assert list(runs_of(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        '"""SELECT what is to be changed, FROM the top."""',
        'rest = Rest("DELETE", "/epics/{id}", 204)',
        'message = "select an item where it is listed"',
        "rows = await labels.names(work.db)",
    ],
)
def test_other_text_is_no_sql(line: str) -> None:
    tree = ast.parse(line)
    assert not [*sql_of(tree), *runs_of(tree)]
