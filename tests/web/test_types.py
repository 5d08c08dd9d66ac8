"""The modules of the pages are type-checked by their comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.node_packages import node_packages


@pytest.fixture
def packages() -> Path:
    return node_packages(Path(__file__).parent.parent / "explorer")


def test_modules_pass_the_strict_checks_of_typescript(packages: Path) -> None:
    done = subprocess.run(
        ["node", packages / "typescript" / "bin" / "tsc", "-p", Path(__file__).parent],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
