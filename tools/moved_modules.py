"""Write docs/operate/moved-modules.md: where the code of an earlier commit is now.

    python -m tools.moved_modules 4943a8b

A module's functions and classes vote for the module that defines most of them today; private names
and names that many modules define count less.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from accord.deprecated import MOVED
from tools.tree_figures import PROJECT, Module, commit_source, read_modules

PAGE: Final = PROJECT / "docs/operate/moved-modules.md"
_HEAD: Final = """# Modules that moved

The code of Accord was put into fewer files with the names of the field. This page tells where the
modules of the first version are. Paths that were public still work and warn when they are used
(marked ✓); they go with the next release. Everything else was internal and has only its new path.

| module of the first version | now | old path works |
|---|---|---|
"""
_WORTH_LOOKING_AT: Final = 0.2
"""The share of a module's votes below which a new home is a guess that is not written."""


def main() -> int:
    [commit] = sys.argv[1:]
    with commit_source(commit) as root:
        before = list(read_modules(root / "src"))
    PAGE.write_text(page(before, list(read_modules(PROJECT / "src"))), encoding="utf-8")
    return 0


def page(before: Iterable[Module], now: Iterable[Module]) -> str:
    """Return the page about modules whose path is gone."""
    today = {module.name: module for module in now}
    homes = _homes(today)
    rows = []
    for module in before:
        if module.name in today:
            continue
        home = MOVED.get(module.name) or _home(module, homes)
        works = "✓" if module.name in MOVED else ""
        rows.append(f"| `{module.name}` | {f'`{home}`' if home else '–'} | {works} |\n")
    return _HEAD + "".join(rows)


def _homes(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return the modules that define each name, methods of classes included."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules.values():
        for name in _names(module):
            found[name].append(module.name)
    return found


def _home(module: Module, homes: Mapping[str, list[str]]) -> str | None:
    votes: Counter[str] = Counter()
    names = set(_names(module))
    package = module.name.split(".")[:3]
    for name in names:
        places = homes.get(name, [])
        for place in places:
            near = len(set(place.split(".")) & set(package))
            votes[place] += near / len(places)  # type: ignore[assignment] # a share of a vote
    if not votes:
        return None
    best, share = votes.most_common(1)[0]
    return best if share >= _WORTH_LOOKING_AT * len(names) else None


def _names(module: Module) -> Iterable[str]:
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            for each in node.body:
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{each.name}"
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


if __name__ == "__main__":
    sys.exit(main())
