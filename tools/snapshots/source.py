"""What can only be read from the source: calls and the constants that are given to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2] / "src" / "accord"


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(folder: str = "") -> Iterator[tuple[str, ast.Call]]:
    """Yield each call in the modules of a folder, with the last name of what is called."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                yield _name(node.func), node


def text(node: ast.expr | None) -> str | None:
    """The text that an expression is, None if it is no constant text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
