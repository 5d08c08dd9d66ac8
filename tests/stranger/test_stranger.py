"""What a stranger does first, with the wheel that is given away, an environment of its own, and the
official client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.interop.commands import python

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 170.0


@pytest.fixture
def client() -> str:
    """The interpreter that has the official client."""
    return python("mcp")


def test_a_wheel_in_an_empty_folder_becomes_a_connected_assistant_and_a_finished_workflow(
    client: str, tmp_path: Path
) -> None:
    run("-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path), str(ROOT))
    [wheel] = tmp_path.glob("accord-*.whl")
    said = run(str(ROOT / "tools" / "stranger.py"), str(wheel), "--client", client)
    assert "Hello stranger" in said


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
