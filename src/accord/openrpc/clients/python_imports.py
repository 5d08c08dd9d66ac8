"""The imports of a generated Python module: of all that clients may need, what this one uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from accord.openrpc.clients.python_text import STEP, WIDTH

MODULES: Final = {
    "builtins": "import builtins",
    "dt": "import datetime as dt",
    "msgspec": "import msgspec",
}
_STANDARD: Final = {
    "decimal": ("Decimal",),
    "typing": (
        "TYPE_CHECKING",
        "Any",
        "ClassVar",
        "Literal",
        "NotRequired",
        "TypeAlias",
        "TypedDict",
    ),
    "uuid": ("UUID",),
}
_INSTALLED: Final = {
    "accord": ("RpcError",),
    "accord.openrpc.clients.stub": (
        "AsyncClient",
        "BlockingClient",
        "BlockingMethods",
        "Call",
        "Errors",
        "Methods",
        "Returns",
        "either",
        "given",
        "open_record",
        "placed",
    ),
    "accord.sync": ("connect",),
    "msgspec": ("UNSET", "UnsetType"),
}
IMPORTED: Final = frozenset(
    name for home in (_STANDARD, _INSTALLED) for names in home.values() for name in names
)


def imports(body: str) -> list[str]:
    """The imports of what the body uses, sorted as `ruff check` wants them."""
    used = _names_in(ast.parse(body))
    modules = [line for name, line in MODULES.items() if name in used and name != "msgspec"]
    standard = [*modules, *_from_imports(_STANDARD, used)]
    installed = ["import msgspec"] if "msgspec" in used else []
    installed += _from_imports(_INSTALLED, used)
    return [*standard, *([""] if standard else []), *installed]


def _from_imports(homes: dict[str, tuple[str, ...]], used: set[str]) -> Iterator[str]:
    for home, names in homes.items():
        found = [name for name in names if name in used]
        one = f"from {home} import {', '.join(found)}"
        if found and len(one) <= WIDTH:
            yield one
        elif found:
            yield from (f"from {home} import (", *(f"{STEP}{name}," for name in found), ")")


def _names_in(tree: ast.AST) -> set[str]:
    """The names that source refers to, those in quoted types among them."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name):
                found.add(name)
            case ast.AnnAssign(annotation=ast.Name("TypeAlias"), value=ast.Constant(str(quoted))):
                found |= _names_in(ast.parse(quoted))
            case ast.Call(func=ast.Name("TypedDict"), args=[_, ast.Dict(values=types)]):
                for each in types:
                    if isinstance(each, ast.Constant):
                        found |= _names_in(ast.parse(str(each.value)))
    return found
