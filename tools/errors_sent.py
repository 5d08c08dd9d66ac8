"""Which errors of the catalogue Accord sends or raises, read from the source.

An error is sent where its name is given to a function that makes errors, or stands in one of the
tables that translate others into them. A name that merely occurs, as in a docstring, does not
count, and neither do the tables that only say which code a name has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from accord.jsonrpc.protocol.catalogue import BUILT_IN, CATALOGUE, SHARED, Entry

SOURCE: Final = Path(__file__).parent.parent / "src" / "accord"
MAKERS: Final = frozenset(("own_error", "failure", "unforeseen", "_MediaRefusal"))
"""The functions whose arguments name errors."""
TABLES: Final = frozenset(
    ("exposure/response.py", "mcp/protocol/messages.py", "operations/adapters/errors.py")
)
"""The modules whose tables have names of errors as values."""


def names_sent(source: Path = SOURCE) -> frozenset[str]:
    """Return the names of all errors that the code below `source` makes."""
    known = {name for entry in (*BUILT_IN, *SHARED) for name in names_of(entry)}
    found: set[str] = set()
    for file in sorted(source.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found.update(_given(tree))
        if file.relative_to(source).as_posix() in TABLES:
            found.update(_in_tables(tree))
    return frozenset(found & known)


def names_of(entry: Entry) -> tuple[str, ...]:
    return entry.name, *CATALOGUE.aliases(entry)


def is_sent(entry: Entry, sent: frozenset[str]) -> bool:
    return any(name in sent for name in names_of(entry))


def _given(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in MAKERS:
            for argument in node.args[:2]:
                yield from _texts(argument)


def _in_tables(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for value in node.values:
                yield from _texts(value)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) and node.value is not None:
            yield from _texts(node.value)


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body)
            yield from _texts(other)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _texts(part)


def _name(function: ast.expr) -> str:
    return getattr(function, "id", None) or getattr(function, "attr", None) or ""
