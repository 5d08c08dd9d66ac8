"""Where the others are installed: one virtual environment each, with pinned versions.

An environment is made when it is first needed, and again when its list of versions or our
Python changes.
"""

from __future__ import annotations

import fcntl
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import say

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache"


def python_of(peer: str) -> str:
    """The interpreter of an environment in which `peer` is installed."""
    directory = CACHE / "bench" / peer
    versions = _versions_file(peer).read_text(encoding="utf-8")
    stamp, wanted = directory / "installed.txt", f"{platform.python_version()}\n{versions}"
    with alone(peer):
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            _install(peer, directory)
            stamp.write_text(wanted, encoding="utf-8")
    return str(directory / "bin" / "python")


def version_of(peer: str) -> str:
    """The version of `peer` that is pinned."""
    for line in _versions_file(peer).read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if name == peer:
            return version
    raise LookupError(f"{_versions_file(peer).name} does not pin {peer}")


@contextmanager
def alone(peer: str) -> Iterator[None]:
    """Within this, nobody else makes the environment of `peer`: tests run side by side."""
    folder = CACHE / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{peer}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _versions_file(peer: str) -> Path:
    return Path(__file__).parent / "peers" / f"{peer}.txt"


def _install(peer: str, directory: Path) -> None:
    say(f"installing the packages of {_versions_file(peer).name}")
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n", encoding="utf-8")
    _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(directory)])
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    install = ["--python", str(directory), "install", "--requirement", str(_versions_file(peer))]
    _run([*pip, *install])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed")
