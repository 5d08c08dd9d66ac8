"""What tests with code of others share: their packages, and our demo as a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.interop.programs import ACCORD, serving
from tests.transports.conftest import certificate as certificate

HERE = Path(__file__).parent
CACHE = HERE.parent.parent / ".cache" / "interop"

Demo = Callable[..., str]
"""Starts `accord demo` with a URL and flags, once a session; returns where it listens."""


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder `node_modules` with what package-lock.json pins."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    lock = (HERE / "package-lock.json").read_bytes()
    folder = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not folder.exists():
        try:
            _install(folder)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"npm cannot install the peers: {error.stderr.strip().splitlines()[-1]}")
    return folder / "node_modules"


def _install(folder: Path) -> None:
    """Raises CalledProcessError; leaves nothing half done behind."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, made)
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=made,
            capture_output=True,
            text=True,
            check=True,
        )
        with contextlib.suppress(OSError):  # another run was faster
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    with contextlib.ExitStack() as stack:

        @cache
        def start(url: str, *flags: str) -> str:
            return stack.enter_context(serving([*ACCORD, "demo", url, *flags]))

        yield start
