"""Which modules are pure: all of `accord.jsonrpc` beside those that drive it, all of
`accord.a2a.protocol`, `accord.mcp.protocol`, `accord.hub.domain` and `accord.workflows.core`.

Run as a program it prints their files, for coverage's `--include`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "accord/jsonrpc",
    "accord/a2a/protocol",
    "accord/mcp/protocol",
    "accord/hub/domain",
    "accord/workflows/core",
)


def driving_modules() -> frozenset[str]:
    """The dotted names of the modules with a loop, a clock or a log; pyproject.toml lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("id") == "driving")
    return frozenset(contract["protected_modules"])


def pure_files() -> list[Path]:
    """The files of the pure modules, relative to the project."""
    driving = driving_modules()
    files = [file for package in PACKAGES for file in (ROOT / "src" / package).rglob("*.py")]
    return [file.relative_to(ROOT) for file in sorted(files) if _name(file) not in driving]


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)


if __name__ == "__main__":
    print(",".join(map(str, pure_files())))
