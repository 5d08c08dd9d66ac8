"""The data directory that a backup is restored to: made ready beside what is there, then put in its
place. What was there is moved, never removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from accord.app.keeping.errors import KeepingError
from accord.app.server_lock import LOCK, InUseError, alone_in
from accord.operations.accounts.server_key import KEY_FILE, ServerKeyError, load_key

ASIDE: Final = "before-restore-"
"""What the names of folders begin with that hold what was there before."""
STAGE: Final = ".restore-"


class DataDirectory:
    """A data directory that nobody else uses. `stage` is a folder in it for what is to come."""

    def __init__(self, path: Path, stage: Path, *, fingerprint: str, force: bool) -> None:
        self.stage = stage
        self.path = path
        self._old = [each for each in path.iterdir() if not _is_ours(each.name)]
        key = path / KEY_FILE
        if key.exists() and _fingerprint(path) != fingerprint:
            self._old.append(key)
        if self._old and not force:
            raise KeepingError(
                f"{path} is not empty, there is {self._old[0].name}: name another --data, or have "
                "what is there moved aside (--force)"
            )

    @property
    def has_key(self) -> bool:
        """Whether the key is there that the backup needs."""
        key = self.path / KEY_FILE
        return key.exists() and key not in self._old

    def settle(self) -> Path | None:
        """Put everything in its place; the folder with what was there before."""
        aside = self._move_aside() if self._old else None
        for new in self.stage.iterdir():
            new.rename(self.path / new.name)
        fd = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        return aside

    def _move_aside(self) -> Path:
        aside = self.path / f"{ASIDE}{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ}"
        aside.mkdir(mode=0o700)
        for old in self._old:
            old.rename(aside / old.name)
        return aside


@contextmanager
def taking_over(path: Path, *, fingerprint: str, force: bool) -> Iterator[DataDirectory]:
    """A data directory for a backup whose key has this fingerprint. What is not settled when the
    block ends leaves nothing behind. Raises KeepingError where a server uses it, or where it is not
    empty and nobody said that this is fine."""
    existed = path.exists()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_in(path))
        except InUseError as error:
            raise KeepingError(f"{error}: stop it first") from None
        stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=path))
        try:
            yield DataDirectory(path, stage, fingerprint=fingerprint, force=force)
        finally:
            shutil.rmtree(stage)
            if not existed:
                _remove_if_unused(path)


def _remove_if_unused(path: Path) -> None:
    if [each.name for each in path.iterdir()] == [LOCK]:
        (path / LOCK).unlink()
        with suppress(OSError):
            path.rmdir()


def _is_ours(name: str) -> bool:
    return name in (KEY_FILE, LOCK) or name.startswith((ASIDE, STAGE))


def _fingerprint(path: Path) -> str:
    try:
        return load_key(path, {}).fingerprint
    except ServerKeyError:
        return ""
