"""The programs that these tests start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from benchmarks.environments import python_of
from tests.installing import note_installation
from tests.interop.programs import environment
from tests.patience import PATIENCE as PATIENCE

PEERS: Final = Path(__file__).parent / "peers"
OURS: Final = (sys.executable, str(Path(__file__).parent / "server.py"))
"""The command that starts our server, but for its transport."""


def python(peer: str) -> str:
    """The interpreter of an environment that `peer` is installed in; else the test skips."""
    note_installation(peer)
    try:
        return python_of(peer)
    except SystemExit as error:
        pytest.skip(f"{peer} cannot be installed: {error}")


def output(*command: str, packages: Path | None = None, home: Path | None = None) -> Any:
    """The JSON that a program prints; it may leave something in its `home`."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment(packages) | ({} if home is None else {"HOME": str(home)}),
    )
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout)
