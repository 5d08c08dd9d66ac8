"""What `make` runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.req("W-17")
def test_serve_takes_further_flags() -> None:
    make = shutil.which("make")
    assert make is not None
    command = [make, "--dry-run", "serve", "ARGS=--allow-agents 127.0.0.1", "DATA=a b"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    [line] = [each for each in done.stdout.splitlines() if "accord serve" in each]
    assert line.endswith('accord serve --data "a b" --port 8000 --allow-agents 127.0.0.1')
