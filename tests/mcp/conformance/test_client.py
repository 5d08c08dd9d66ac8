"""The client's legs of the conformance suite: no check fails, and none warns."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.mcp.conformance.suite import PATIENCE, Edition, leg, run

PROGRAM = Path(__file__).parent / "client.py"

LEGS: list[tuple[Edition, list[str], int]] = [
    ("release", ["--suite", "all"], 310),
    ("newest", ["--requirements", "2025-11-25"], 307),
    ("newest", ["--requirements", "2026-07-28"], 473),
]
"""The edition of the suite, what of it is run, and how many checks there are at least."""
IDS = [leg(edition, *arguments) for edition, arguments, _ in LEGS]


@pytest.mark.req("M-19")
@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.parametrize(("edition", "arguments", "least"), LEGS, ids=IDS)
def test_no_check_of_a_client_fails(
    packages: Path, tmp_path: Path, edition: Edition, arguments: list[str], least: int
) -> None:
    # The suite starts all clients at once, and measures how soon some of them come back: each
    # waits for its turn.
    turn = shutil.which("flock")
    if turn is None:
        pytest.skip("only on systems that have flock")
    command = f"{turn} {tmp_path / 'turn'} {sys.executable} {PROGRAM}"
    told = ["client", "--command", command, "--timeout", f"{PATIENCE * 1000:.0f}"]
    report = run(packages, edition, [*told, *arguments], tmp_path / "out")
    assert report.failed == ()
    assert report.passed >= least
