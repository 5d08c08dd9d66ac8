"""Packages of Python that tests need apart from our own: an environment for each lock file."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import install_once, note_installation

CACHE = Path(__file__).parent.parent / ".cache"


def python_packages(folder: Path) -> str:
    """A Python with what the requirements.lock in `folder` pins; else the test skips."""
    note_installation(f"the Python packages of {folder.name}")
    lock = (folder / "requirements.lock").read_bytes() + platform.python_version().encode()
    made = CACHE / f"python-{folder.name}" / hashlib.sha256(lock).hexdigest()[:16]
    try:
        install_once(made, lambda partly: _install(folder, partly))
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        pytest.skip(f"pip cannot install the packages of {folder.name}: {reason}")
    return str(made / "bin" / "python")


def _install(folder: Path, target: Path) -> None:
    """Raises CalledProcessError."""
    _run("venv", "--without-pip", str(target))
    pip = ["--quiet", "--disable-pip-version-check", "--python", str(target)]
    _run("pip", *pip, "install", "--require-hashes", "-r", str(folder / "requirements.lock"))


def _run(module: str, *arguments: str) -> None:
    command = [sys.executable, "-m", module, *arguments]
    subprocess.run(command, capture_output=True, text=True, check=True)
