"""Which modules are pure, as the import contract in pyproject.toml lists them.

Run as a program it prints their files, for coverage's `--include`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pure_modules() -> list[str]:
    """The dotted names of the pure modules and packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("id") == "pure")
    return list(contract["source_modules"])


def files_of(module: str) -> list[Path]:
    """The files of a module, or of every module in a package."""
    path = ROOT / "src" / Path(*module.split("."))
    if path.is_dir():
        return sorted(path.rglob("*.py"))
    return [path.with_suffix(".py")]


def pure_files() -> list[Path]:
    """The files of every pure module."""
    return [file for module in pure_modules() for file in files_of(module)]


if __name__ == "__main__":
    print(",".join(str(file.relative_to(ROOT)) for file in pure_files()))
