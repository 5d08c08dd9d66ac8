"""Packages of Node that tests need: installed once for each lock file, outside the work tree's view."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.installing import install_once, note_installation

CACHE = Path(__file__).parent.parent / ".cache"


def node_packages(folder: Path) -> Path:
    """The `node_modules` with what the package-lock.json in `folder` pins; else the test skips."""
    note_installation(f"the Node packages of {folder.name}")
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    lock = (folder / "package-lock.json").read_bytes()
    made = CACHE / folder.name / hashlib.sha256(lock).hexdigest()[:16]
    try:
        install_once(made, lambda partly: _install(folder, partly))
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        pytest.skip(f"npm cannot install the packages of {folder.name}: {reason}")
    return made / "node_modules"


def _install(folder: Path, target: Path) -> None:
    """Raises CalledProcessError."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(folder / name, target)
    subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=target,
        capture_output=True,
        text=True,
        check=True,
    )
