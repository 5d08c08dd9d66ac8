"""The names that programs import, with their signatures as the source has them.

Public is what `__all__` of a module lists, and what pages and examples import beside that.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import accord
from tests.markdown import read_blocks
from tools.snapshots import source
from tools.snapshots.kept import VERSION

PROJECT: Final = Path(__file__).parents[2]
SHOWN: Final = ("README.md", "docs/**/*.md", "examples/**/*.py")
"""Where programs are shown to users."""

_SPECIAL: Final = frozenset(
    f"__{name}__"
    for name in (
        *("init", "call", "iter", "aiter", "anext", "await", "getitem", "len", "contains"),
        *("enter", "exit", "aenter", "aexit"),
    )
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_names() -> str:
    """Each module with what can be imported from it."""
    modules = _listed()
    for module, names in _imported().items():
        modules.setdefault(module, set()).update(names)
    return "\n".join(
        f"module {module}\n" + "".join(_described(module, name) for name in sorted(modules[module]))
        for module in sorted(modules)
    )


def _listed() -> dict[str, set[str]]:
    """What modules say that they offer."""
    found = {}
    for path in sorted(source.ROOT.rglob("*.py")):
        if any(_assigned(node) == "__all__" for node in source.tree(path).body):
            name = _dotted(path)
            found[name] = set(import_module(name).__all__)
    return found


def _imported() -> dict[str, set[str]]:
    """What pages and examples import by name."""
    found: dict[str, set[str]] = {}
    for tree in _programs():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "accord":
                assert node.module is not None
                found.setdefault(node.module, set()).update(each.name for each in node.names)
    return found


def _programs() -> Iterator[ast.Module]:
    for pattern in SHOWN:
        for path in sorted(PROJECT.glob(pattern)):
            if path.suffix == ".py":
                yield ast.parse(path.read_text(encoding="utf-8"))
                continue
            for block in read_blocks(path.name, path):
                if block.language == "python":
                    yield ast.parse(block.code)


def _described(module: str, name: str) -> str:
    """One name, on a line for itself and one for each of its public members."""
    value = getattr(import_module(module), name, None)
    if isinstance(value, ModuleType):
        return f"  module {name}\n"
    home = getattr(value, "__module__", None) or module
    definition = _find(home, getattr(value, "__qualname__", name)) or _find(module, name)
    if isinstance(definition, _Function):
        return f"  {_signature(definition, name)}\n"
    if isinstance(definition, ast.ClassDef) and isinstance(value, type):
        bases = ", ".join(map(ast.unparse, definition.bases))
        return f"  class {name}({bases})\n" + "".join(f"    {each}\n" for each in _members(value))
    if isinstance(definition, ast.Assign | ast.AnnAssign) and definition.value is not None:
        told = ast.unparse(definition.value).replace(accord.__version__, VERSION)
        return f"  {name} = {told}\n"
    return f"  {name}: {type(value).__name__}\n"


def _find(module: str, name: str) -> ast.stmt | None:
    """The statement of a module that defines a name."""
    if module.split(".")[0] != "accord":
        return None
    path = inspect.getsourcefile(import_module(module))
    assert path is not None
    for node in source.tree(Path(path)).body:
        if getattr(node, "name", None) == name or _assigned(node) == name:
            return node
    return None


def _assigned(node: ast.stmt) -> str | None:
    """The name that a statement gives a value to."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _members(value: type[Any]) -> Iterator[str]:
    """The public members of a class and of those of ours that it comes from, each once."""
    seen: set[str] = set()
    for each in value.__mro__:
        definition = _find(each.__module__, each.__qualname__)
        if not isinstance(definition, ast.ClassDef):
            continue
        for node in definition.body:
            name = str(_assigned(node) or getattr(node, "name", "_"))
            if name in seen or (name.startswith("_") and name not in _SPECIAL):
                continue
            if not _overloaded(node):
                seen.add(name)
            yield _member(node, name)


def _member(node: ast.stmt, name: str) -> str:
    if isinstance(node, _Function):
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if "property" in decorators or "cached_property" in decorators:
            returned = f": {ast.unparse(node.returns)}" if node.returns else ""
            return f"property {name}{returned}"
        return "".join(f"@{each} " for each in decorators) + _signature(node, name)
    return re.sub(r"\s+", " ", ast.unparse(node))


def _overloaded(node: ast.stmt) -> bool:
    return isinstance(node, _Function) and any(
        ast.unparse(each) == "overload" for each in node.decorator_list
    )


def _signature(node: _Function, name: str) -> str:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{keyword} {name}({ast.unparse(node.args)}){returned}"


def _dotted(path: Path) -> str:
    parts = path.relative_to(source.ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
