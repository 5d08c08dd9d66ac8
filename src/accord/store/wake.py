"""How processes that use the same file wake each other: by named pipes in a folder beside it.

Whoever listens makes a pipe `CHANNEL.RANDOM` and reads it; whoever notifies writes a byte to each
pipe of the channel. A pipe that is full has woken its reader already; one that nobody reads was
left by a process that is gone, and is removed. Pipes cost nothing while nothing happens, and their
paths have no limit as those of sockets do.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_CHANNEL: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ALL: Final = 65_536


def check_channel(channel: str) -> None:
    """Raises ValueError for a name that not every database takes."""
    if not _CHANNEL.fullmatch(channel):
        raise ValueError(f"{channel!r} is no channel: a-z, 0-9 and _, at most 63 of them")


class WakeFolder:
    """The pipes of all processes that use one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes out of the same block; waits for them."""
        import fcntl  # POSIX only

        fd = os.open(self._path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def listen(self, channel: str, hear: Callable[[], None]) -> Callable[[], None]:
        """Have `hear` called on the running loop; call what this gives to stop."""
        check_channel(channel)
        loop = asyncio.get_running_loop()
        name = secrets.token_hex(8)
        pipe, unread = self._path / f"{channel}.{name}", self._path / f".{name}"
        os.mkfifo(unread, 0o600)
        # Open for writing too, or the pipe would be at its end when the last writer leaves.
        fd = os.open(unread, os.O_RDWR | os.O_NONBLOCK)
        # Found only now: who notifies removes a pipe that nobody reads.
        unread.rename(pipe)
        listening = True

        def woken() -> None:
            with suppress(BlockingIOError):
                os.read(fd, _ALL)
            hear()

        def stop() -> None:
            nonlocal listening
            if listening:
                listening = False
                pipe.unlink(missing_ok=True)
                loop.remove_reader(fd)
                os.close(fd)

        loop.add_reader(fd, woken)
        return stop

    def notify(self, channel: str) -> None:
        """Wake all that listen. May be called from any thread."""
        prefix = f"{channel}."
        with os.scandir(self._path) as entries:
            pipes = [entry.path for entry in entries if entry.name.startswith(prefix)]
        for pipe in pipes:
            _write(pipe)


def _write(pipe: str) -> None:
    try:
        fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nobody reads it
            with suppress(FileNotFoundError):
                os.unlink(pipe)
        elif error.errno != errno.ENOENT:
            raise
        return
    try:
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(fd, b"!")
    finally:
        os.close(fd)
