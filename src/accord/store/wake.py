"""Wake-ups between processes that use the same file: named pipes in a folder beside it.

A listener creates a pipe `CHANNEL.RANDOM` and reads it; a notifier writes a byte to each pipe of
the channel. A full pipe has woken its reader already; a pipe without a reader was left by a dead
process, and is removed. Idle pipes cost nothing, and their paths have no length limit as those of
sockets do.
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
    """Raise ValueError for a name that not every database allows."""
    if not _CHANNEL.fullmatch(channel):
        raise ValueError(f"{channel!r} is no channel: a-z, 0-9 and _, at most 63 of them")


class WakeFolder:
    """The pipes of all processes that use one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold an exclusive lock between processes; wait for it first."""
        import fcntl  # POSIX only

        fd = os.open(self._path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def listen(self, channel: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on the running event loop for each wake-up; return a stop function."""
        check_channel(channel)
        loop = asyncio.get_running_loop()
        name = secrets.token_hex(8)
        pipe, unread = self._path / f"{channel}.{name}", self._path / f".{name}"
        os.mkfifo(unread, 0o600)
        # Open it for writing too, or the reader would see EOF when the last writer closes.
        fd = os.open(unread, os.O_RDWR | os.O_NONBLOCK)
        # Rename it only now: notifiers remove pipes without a reader.
        unread.rename(pipe)
        listening = True

        def wake_up() -> None:
            with suppress(BlockingIOError):
                os.read(fd, _ALL)
            callback()

        def stop() -> None:
            nonlocal listening
            if listening:
                listening = False
                pipe.unlink(missing_ok=True)
                loop.remove_reader(fd)
                os.close(fd)

        loop.add_reader(fd, wake_up)
        return stop

    def notify(self, channel: str) -> None:
        """Wake all listeners of `channel`. Callable from any thread."""
        prefix = f"{channel}."
        with os.scandir(self._path) as entries:
            pipes = [entry.path for entry in entries if entry.name.startswith(prefix)]
        for pipe in pipes:
            _write(pipe)


def _write(pipe: str) -> None:
    try:
        fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # no reader
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
