"""Packages of Python that tests need apart from our own: an environment for each lock file."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.installing import note_installation

CACHE = Path(__file__).parent.parent / ".cache"


def python_packages(folder: Path) -> str:
    """A Python with what the requirements.lock in `folder` pins; else the test skips."""
    note_installation(f"the Python packages of {folder.name}")
    lock = (folder / "requirements.lock").read_bytes() + platform.python_version().encode()
    made = CACHE / f"python-{folder.name}" / hashlib.sha256(lock).hexdigest()[:16]
    if not made.exists():
        try:
            _install(folder, made)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip().splitlines()[-1]
            pytest.skip(f"pip cannot install the packages of {folder.name}: {reason}")
    return str(made / "bin" / "python")


def _install(folder: Path, made: Path) -> None:
    """Raises CalledProcessError; leaves nothing half done behind."""
    made.parent.mkdir(parents=True, exist_ok=True)
    partly = Path(tempfile.mkdtemp(dir=made.parent))
    try:
        _run("venv", "--without-pip", str(partly))
        install = ["--require-hashes", "-r", str(folder / "requirements.lock")]
        _run(
            "pip",
            "--quiet",
            "--disable-pip-version-check",
            "--python",
            str(partly),
            "install",
            *install,
        )
        with contextlib.suppress(OSError):  # another run was faster
            partly.rename(made)
    finally:
        shutil.rmtree(partly, ignore_errors=True)


def _run(module: str, *arguments: str) -> None:
    command = [sys.executable, "-m", module, *arguments]
    subprocess.run(command, capture_output=True, text=True, check=True)
