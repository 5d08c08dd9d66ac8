"""Packages of Node that tests need: installed once for each lock file, outside the work tree's view."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.installing import note_installation

CACHE = Path(__file__).parent.parent / ".cache"


def node_packages(folder: Path) -> Path:
    """The `node_modules` with what the package-lock.json in `folder` pins; else the test skips."""
    note_installation(f"the Node packages of {folder.name}")
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    lock = (folder / "package-lock.json").read_bytes()
    made = CACHE / folder.name / hashlib.sha256(lock).hexdigest()[:16]
    if not made.exists():
        try:
            _install(folder, made)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip().splitlines()[-1]
            pytest.skip(f"npm cannot install the packages of {folder.name}: {reason}")
    return made / "node_modules"


def _install(folder: Path, made: Path) -> None:
    """Raises CalledProcessError; leaves nothing half done behind."""
    made.parent.mkdir(parents=True, exist_ok=True)
    partly = Path(tempfile.mkdtemp(dir=made.parent))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, partly)
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=partly,
            capture_output=True,
            text=True,
            check=True,
        )
        with contextlib.suppress(OSError):  # another run was faster
            partly.rename(made)
    finally:
        shutil.rmtree(partly, ignore_errors=True)
