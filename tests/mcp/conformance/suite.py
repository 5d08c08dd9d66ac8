"""The conformance suite as a program: what it was told to run, and what came of it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import pytest
from msgspec import Struct

Edition: TypeAlias = Literal["release", "newest"]
"""The version of the suite: npm's `latest`, or the one that knows the newest specification."""

PATIENCE: Final = 300.0
"""Seconds that one leg may take."""
GOOD: Final = frozenset(("SUCCESS", "INFO", "SKIPPED"))
_MACHINES: Final = {"x86_64": "x64", "aarch64": "arm64"}


class Report(Struct, frozen=True):
    """What a run of the suite found."""

    passed: int
    failed: tuple[str, ...]
    """Each check that failed or warned, and each scenario that the suite says has failed."""


def leg(*told: str) -> str:
    """What a leg is called in reports."""
    return " ".join(told).replace("--suite ", "").replace("--requirements ", "")


def run(packages: Path, edition: Edition, arguments: Sequence[str], out: Path) -> Report:
    """Run the suite with the command line `arguments`, with its results in `out`."""
    program = packages / f"conformance-{edition}" / "dist" / "index.js"
    command = [str(node(packages)), str(program), *arguments, "--output-dir", str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=_environment()
    )
    report = read(out, done.stdout)
    assert report.passed or report.failed, done.stdout + done.stderr
    return report


def read(out: Path, said: str) -> Report:
    """What the files in `out` tell, and the summary that the suite has printed."""
    passed, failed = 0, []
    for path in sorted(out.rglob("checks.json")):
        for check in json.loads(path.read_text(encoding="utf-8")):
            passed += check["status"] == "SUCCESS"
            if check["status"] not in GOOD:
                problem = check.get("errorMessage") or check.get("description", "")
                scenario = path.parent.name
                failed.append(f"{scenario}: {check['status']} {check['id']}: {problem}")
    failed += [line for line in said.splitlines() if line.startswith("✗")]
    return Report(passed, tuple(failed))


def node(packages: Path) -> Path:
    """The Node of `packages`: the suite does not run on older ones."""
    machine = _MACHINES.get(platform.machine(), platform.machine())
    found = packages / f"node-{platform.system().lower()}-{machine}" / "bin" / "node"
    if not found.exists():
        pytest.skip(f"only on machines that npm has a Node for, not {found.parent.parent.name}")
    return found


def _environment() -> dict[str, str]:
    """Without the colours that a terminal would get."""
    return os.environ | {"NO_COLOR": "1"}
