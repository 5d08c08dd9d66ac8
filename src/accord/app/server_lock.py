"""The lock of a data directory: with SQLite one server uses it, and nobody while it is restored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOCK: Final = "server.lock"


class InUseError(Exception):
    """A server uses the data directory."""

    def __init__(self, data: Path, process: str) -> None:
        which = f" (process {process})" if process.isdigit() else ""
        super().__init__(f"another server{which} uses {data}")


@contextmanager
def alone_in(data: Path) -> Iterator[None]:
    """Within this no server uses the folder, which must be there. Raises InUseError."""
    import fcntl  # POSIX only

    fd = os.open(data / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(data, os.read(fd, 20).decode("ascii", "replace")) from None
        os.ftruncate(fd, 0)
        os.write(fd, str(os.getpid()).encode())
        yield
    finally:
        os.close(fd)


def is_served(data: Path) -> bool:
    """Whether a server runs on a data directory with SQLite."""
    import fcntl  # POSIX only

    try:
        fd = os.open(data / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
