"""The workers that serve one port, as a scrape sees them: whichever is asked tells of all.

Each has a number of its own, kept by a lock on a file that ends with the process, and answers its
fellows at a Unix socket of that number. All of it is in a folder that only their user may enter.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from accord.telemetry.exposition import Exposition, Family

log = logging.getLogger("accord.app")

MOST: Final = 256
"""How many there may be: more than can be started."""
PATIENCE_SECONDS: Final = 2.0
"""How long a fellow may take to answer."""
LARGEST: Final = 64 * 1024 * 1024
LABEL: Final = "worker"
UP: Final = "accord_worker_up"

Families: TypeAlias = Mapping[str, Family]

_read = msgspec.json.Decoder(dict[str, Family]).decode


class Fellows:
    """One worker among them. Belongs to one event loop."""

    def __init__(self, folder: Path, number: int, own: Callable[[], Families]) -> None:
        self._folder = folder
        self._own = own
        self.number = number

    async def gather(self, page: Exposition) -> None:
        """Write what all of them count, each with its number. Who does not answer is missing."""
        numbers = sorted(int(each.stem) for each in self._folder.glob("*.sock"))
        told = await asyncio.gather(*(self._ask(number) for number in numbers))
        page.family(
            UP,
            "gauge",
            "Whether a worker told what it counts.",
            (
                (((LABEL, str(number)),), int(each is not None))
                for number, each in zip(numbers, told, strict=True)
            ),
        )
        for number, families in zip(numbers, told, strict=True):
            if families is not None:
                page.include(families, (LABEL, str(number)))

    async def _ask(self, number: int) -> Families | None:
        if number == self.number:
            return self._own()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return _read(await _received(_socket(self._folder, number)))
        except (OSError, TimeoutError, msgspec.DecodeError) as error:
            log.warning("worker %d does not tell what it counts: %s", number, error)
            return None


@asynccontextmanager
async def among_fellows(folder: Path, own: Callable[[], Families]) -> AsyncIterator[Fellows]:
    """Be one of the workers of a folder; `own` gives what this one counts."""
    number, lock = _take_number(folder)
    path = _socket(folder, number)

    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(msgspec.json.encode(own()))
        with suppress(OSError):
            await writer.drain()
        writer.close()

    try:
        path.unlink(missing_ok=True)  # of one that was killed
        server = await asyncio.start_unix_server(tell, path)
        try:
            yield Fellows(folder, number, own)
        finally:
            server.close()
            path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _take_number(folder: Path) -> tuple[int, int]:
    """The first number that nobody has, and the lock that keeps it."""
    for number in range(1, MOST + 1):
        lock = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return number, lock
    raise RuntimeError(f"there are more than {MOST} workers")


def _socket(folder: Path, number: int) -> Path:
    return folder / f"{number}.sock"


async def _received(path: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path, limit=LARGEST)
    try:
        return await reader.read()
    finally:
        writer.close()
