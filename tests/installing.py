"""Packages and programs of others are installed in fixtures, which have no time limit: on a slow
network it takes minutes, and a test would fail that has nothing wrong with it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

_prepared: Final[set[str]] = set()
"""What fixtures of this process have asked for."""


def note_installation(what: str) -> None:
    """Note that something may be installed now. Raise AssertionError in the body of a test, unless
    a fixture has asked for the same before."""
    running = os.environ.get("PYTEST_CURRENT_TEST", "")
    if not running.endswith("(call)"):
        _prepared.add(what)
        return
    assert what in _prepared, (
        f"{running.removesuffix(' (call)')} may install {what} while its time runs: ask for it in "
        "a fixture"
    )


def install_once(made: Path, install: Callable[[Path], None]) -> None:
    """Have `install` fill the folder `made` unless it exists, and leave nothing half done.

    Of several processes that ask at the same time one installs, and the others wait for it.
    """
    made.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{made}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists():
            return
        partly = Path(tempfile.mkdtemp(dir=made.parent))
        try:
            install(partly)
            partly.rename(made)
        finally:
            shutil.rmtree(partly, ignore_errors=True)
