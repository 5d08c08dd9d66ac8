"""The workers that serve one port, as a scrape sees them: whichever is asked tells of all.

Each has a number, and answers its fellows at a Unix socket of that number, in a folder that only
their user may enter. Who takes the place of one that ended has its number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from accord.telemetry.metrics import Exposition, Family

log = logging.getLogger("accord.app")

PATIENCE_SECONDS: Final = 2.0
"""How long a fellow may take to answer."""
LARGEST: Final = 64 * 1024 * 1024
LABEL: Final = "worker"
UP: Final = "accord_worker_up"

Families: TypeAlias = Mapping[str, Family]

_read = msgspec.json.Decoder(dict[str, Family]).decode


class Worker(Struct, frozen=True):
    """Which of the workers this is."""

    folder: Path
    number: int

    def socket(self, number: int) -> Path:
        """Where one of them answers."""
        return self.folder / f"{number}.sock"


class Fellows:
    """One worker among them. Belongs to one event loop."""

    def __init__(self, worker: Worker, own: Callable[[], Families]) -> None:
        self._worker = worker
        self._own = own

    async def gather(self, page: Exposition) -> None:
        """Write what all of them count, each with its number. Who does not answer is missing."""
        numbers = sorted(int(each.stem) for each in self._worker.folder.glob("*.sock"))
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
        if number == self._worker.number:
            return self._own()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return _read(await _received(self._worker.socket(number)))
        except (OSError, TimeoutError, msgspec.DecodeError) as error:
            log.warning("worker %d does not tell what it counts: %s", number, error)
            return None


@asynccontextmanager
async def among_fellows(worker: Worker, own: Callable[[], Families]) -> AsyncIterator[Fellows]:
    """Be one of the workers; `own` gives what this one counts."""
    path = worker.socket(worker.number)

    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(msgspec.json.encode(own()))
        with suppress(OSError):
            await writer.drain()
        writer.close()

    path.unlink(missing_ok=True)  # of one that was killed
    server = await asyncio.start_unix_server(tell, path)
    try:
        yield Fellows(worker, own)
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _received(path: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path, limit=LARGEST)
    try:
        return await reader.read()
    finally:
        writer.close()
