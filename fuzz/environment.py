"""Where Atheris is installed: a folder of its own, pinned by hash, beside the environment in use.

So what is fuzzed is what is tested, with the same versions of everything. The folder is made
when it is first needed, and again when the pin or the Python changes.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
CACHE: Final = ROOT / ".cache"
HOME: Final = CACHE / "fuzz"
FINDINGS: Final = HOME / "findings"
PINS: Final = Path(__file__).parent / "requirements.txt"


class UnavailableError(Exception):
    """Atheris cannot be installed here."""


def with_atheris() -> dict[str, str]:
    """The environment variables under which Atheris can be imported. Raises UnavailableError."""
    folder = HOME / "atheris"
    stamp = folder / "installed.txt"
    wanted = f"{platform.python_version()}\n{PINS.read_text(encoding='utf-8')}"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        _install(folder)
        stamp.write_text(wanted, encoding="utf-8")
    path = os.pathsep.join(str(place) for place in (ROOT / "src", ROOT, folder))
    return {**os.environ, "PYTHONPATH": path}


def atheris_version() -> str:
    """The version that is pinned."""
    match = re.search(r"^atheris==(\S+)", PINS.read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, f"{PINS.name} does not pin Atheris"
    return match[1]


def _install(folder: Path) -> None:
    print("installing Atheris", file=sys.stderr)
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    options = ["--target", str(folder), "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    done = subprocess.run(
        [*pip, *options, "-r", str(PINS)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip gives no reason"])[-1]
        raise UnavailableError(last)
