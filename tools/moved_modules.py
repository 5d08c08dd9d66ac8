"""Write docs/operate/moved-modules.md: where the code of an earlier commit is now.

    python -m tools.moved_modules 4943a8b

A module's definitions, statements and texts vote for the module that has most of them today. Those
that several modules have, such as a function named `run`, count less; a package or file name that
stayed the same counts more.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from accord.deprecated import MOVED
from tools.tree_figures import PROJECT, Module, commit_source, read_modules

PAGE: Final = PROJECT / "docs/operate/moved-modules.md"
_HEAD: Final = """# Modules that moved

The code of Accord is in fewer files now, with the names of the field. This page lists each module
of the first version that moved, with the module that has most of its code today. Paths that were
public still work for one release, and warn when they are used (marked ✓). All others were internal
and have only the new path.

| module of the first version | now | old path works |
|---|---|---|
"""
_LEAST_SHARE: Final = 0.15
"""The share of a module's votes below which a new home is a guess that is not written."""
_LEAST_LENGTH: Final = 20
"""Characters of a statement or text: shorter ones are in too many modules by chance."""


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
    """Return the modules that have each trait."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules.values():
        for trait in _traits(module):
            found[trait].append(module.name)
    return found


def _home(module: Module, homes: Mapping[str, list[str]]) -> str | None:
    """Return the module that has most of another one's traits, None if none has enough."""
    shares: dict[str, float] = defaultdict(float)
    votes: dict[str, float] = defaultdict(float)
    traits = _traits(module)
    path = set(module.name.split("."))
    for trait in traits:
        places = homes.get(trait, [])
        for place in places:
            shares[place] += 1 / len(places)
            votes[place] += len(path.intersection(place.split("."))) / len(places)
    if not votes:
        return None
    best = max(votes, key=votes.__getitem__)
    return best if shares[best] >= _LEAST_SHARE * len(traits) else None


def _traits(module: Module) -> set[str]:
    """Return the names, statements and texts by which a module can be recognised."""
    found = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                continue
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                trait = f"def {name}"
            case ast.ClassDef(name=name):
                trait = f"class {name}"
            case ast.Constant(value=str() as trait) if len(trait) >= _LEAST_LENGTH:
                pass
            case ast.Assign() | ast.AnnAssign() | ast.Return() | ast.Raise() | ast.Expr():
                trait = ast.unparse(node)
                if len(trait) < _LEAST_LENGTH:
                    continue
            case _:
                continue
        found.add(trait)
    return found


if __name__ == "__main__":
    sys.exit(main())
