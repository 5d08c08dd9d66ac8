"""Packages with plugins: those of the examples, installed as anybody would, and broken ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "plugins"


def install_examples(target: Path) -> None:
    """Have pip install all of them into a folder, without asking anybody else."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--no-index", "--no-compile", "--no-cache-dir"),
            *("--target", str(target)),
            *(str(each.parent) for each in sorted(EXAMPLES.glob("*/pyproject.toml"))),
        ],
        check=True,
        capture_output=True,
        text=True,
    )


def add_package(
    target: Path, name: str, code: str, points: Mapping[str, Mapping[str, str]]
) -> None:
    """Put a package of one module into a folder, as pip leaves it; `points` has what entry points
    give, by group and name."""
    module = name.replace("-", "_")
    (target / f"{module}.py").write_text(code)
    about = target / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, values in points.items()
        for line in (f"[{group}]", *(f"{key} = {module}:{value}" for key, value in values.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
