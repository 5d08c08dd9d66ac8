"""The server's legs of the conformance suite: no check fails, and none warns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.interop.programs import serving
from tests.mcp.conformance.suite import PATIENCE, Edition, leg, run

PROGRAM = Path(__file__).parent / "server.py"

LEGS: list[tuple[str, Edition, list[str], int]] = [
    ("own", "release", ["--suite", "all"], 46),
    ("own", "newest", ["--requirements", "2025-11-25"], 83),
    ("own", "newest", ["--requirements", "2026-07-28"], 196),
    ("own", "newest", ["--suite", "all"], 233),
    ("uvicorn", "newest", ["--requirements", "2025-11-25"], 83),
    ("uvicorn", "newest", ["--requirements", "2026-07-28"], 196),
]
"""By whom the server is carried, the edition of the suite, what of it is run, and how many
checks there are at least."""
REPEATING = {"own release all", "own newest 2025-11-25", "own newest 2026-07-28"}
"""The legs whose checks `own newest all` makes too, but for one, which `uvicorn newest 2026-07-28`
makes: whether lists of tools have the same order each time."""
CASES = [
    pytest.param(*each, id=name, marks=[pytest.mark.matrix] if name in REPEATING else [])
    for each in LEGS
    if (name := leg(each[0], each[1], *each[2]))
]


@pytest.mark.req("M-19")
@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.parametrize(("carrier", "edition", "arguments", "least"), CASES)
def test_no_check_of_a_server_fails(
    packages: Path, tmp_path: Path, carrier: str, edition: Edition, arguments: list[str], least: int
) -> None:
    with serving([sys.executable, str(PROGRAM), carrier]) as url:
        report = run(packages, edition, ["server", "--url", url, *arguments], tmp_path)
    assert report.failed == ()
    assert report.passed >= least
