"""The data directory: whether it is there, whose it is, how much room there is, the key in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from accord.app.server_lock import is_served
from accord.app.settings import Settings
from accord.cli.announcement import FIRST_RUN_FILE
from accord.cli.checkup.finding import Finding, ok, problem, unseen, warning
from accord.operations.accounts.server_key import KEY_FILE

MIB: Final = 2**20
LITTLE: Final = 1024 * MIB
TOO_LITTLE: Final = 100 * MIB
OTHERS: Final = 0o077


def look(settings: Settings) -> Iterator[Finding]:
    data = Path(settings.data)
    if not data.exists():
        yield unseen("folder", f"there is no {data}", "accord serve makes it; --data says where")
        return
    if not data.is_dir():
        yield problem("folder", f"{data} is no folder", "say with --data where it is")
        return
    yield _folder(data)
    yield _room(data)
    if not settings.is_shared:
        yield _key(data / KEY_FILE)
        yield _server(data)
    if (data / FIRST_RUN_FILE).exists():
        advice = f"keep what is in it elsewhere, then rm {data / FIRST_RUN_FILE}"
        yield warning(FIRST_RUN_FILE, "the first password and token are still in a file", advice)


def _folder(data: Path) -> Finding:
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        return problem("folder", f"you may not write to {data}", f"see who owns it: ls -ld {data}")
    mode = data.stat().st_mode & 0o777
    if mode & OTHERS:
        return warning("folder", f"others may look into {data} ({mode:04o})", f"chmod 700 {data}")
    return ok("folder", f"{data.absolute()}, for nobody else")


def _room(data: Path) -> Finding:
    free = shutil.disk_usage(data).free
    told = f"{free // MIB:,} MiB are free"
    if free < TOO_LITTLE:
        return problem("room", told, "make room, or move the data directory")
    if free < LITTLE:
        return warning("room", told, "make room before writes fail")
    return ok("room", told)


def _key(file: Path) -> Finding:
    try:
        mode = file.stat().st_mode & 0o777
    except FileNotFoundError:
        return unseen("key", "there is none yet", "accord serve makes one")
    if mode & OTHERS:
        detail = f"others can read {file} (mode {mode:04o}): nothing starts"
        return problem("key", detail, f"chmod 600 {file}")
    if not os.access(file, os.R_OK):
        return problem("key", f"you may not read {file}", f"see who owns it: ls -l {file}")
    return ok("key", "only its owner can read it")


def _server(data: Path) -> Finding:
    return ok("server", "one runs on it" if is_served(data) else "none runs on it")
