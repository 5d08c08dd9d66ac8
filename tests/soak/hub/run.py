"""One soak of the system on one engine: callers for some minutes, then a look at the process.

The first tenth brings caches, threads and allocators to their working size; what is held then is
what may be held at the end.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from tests.hub.races.line import lines
from tests.hub.races.racing import signed_in
from tests.soak.hub.service import Measured, Started
from tests.soak.hub.visits import WEIGHTS, Mode, Visit
from tests.soak.measures import MIB
from tests.soak.run import faults_between

T = TypeVar("T")

AT_ONCE: Final = 16
SLICES: Final = 10
PATIENCE: Final = 60.0
LOOKS: Final = 5
"""How often what is held at the beginning and at the end is looked at: the process has things of
its own to do, for moments."""
MOST_OBJECTS: Final = 20_000
"""How many more objects there may be: each of the connections to PostgreSQL keeps the statements
that it was asked, up to 1,024, of which seldom ones come late."""
ROOT: Final = Path(__file__).parent.parent.parent.parent
MODES: Final[tuple[Mode, ...]] = ("modern", "legacy")


class HubReport(Struct, frozen=True, kw_only=True):
    """What one soak did and found."""

    engine: str
    seconds: float
    visits: dict[str, int]
    operations: int
    """How many the server counted."""
    before: Measured
    after: Measured
    rss: list[int]
    """The server's memory after each slice."""
    errors: list[str]
    """What the server logged as an error."""

    @property
    def faults(self) -> list[str]:
        """What was left behind; empty when all is well."""
        left = [f"{count} {name} are left" for name, count in self.after.left.items() if count]
        before, after = self.before.held, self.after.held
        grown = faults_between("", before, after, most_objects=MOST_OBJECTS)
        return [*grown, *left, *self.errors]


class Process:
    """The system, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, started: Started) -> None:
        self._process = process
        self.started = started

    async def ask(self, what: str) -> Measured:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n".encode())
        return await _line(self._process, Measured)

    async def settled(self) -> Measured:
        """What it holds once all callers are gone."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.ask("forget")
                if not any(found.left.values()):
                    return found
                await asyncio.sleep(0.1)

    async def at_rest(self) -> Measured:
        """The same, while it does nothing by itself either."""
        found = []
        for _ in range(LOOKS):
            found.append(await self.settled())
            await asyncio.sleep(0.1)
        return min(found, key=lambda each: each.held.tasks)


@asynccontextmanager
async def running(folder: Path, database: str) -> AsyncIterator[Process]:
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.soak.hub.service", str(folder / "data"), database),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
        )
    try:
        yield Process(process, await _line(process, Started))
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0


async def soak(
    folder: Path, database: str, seconds: float, say: Callable[[str], None]
) -> HubReport:
    """Do it all. `database` is empty for SQLite."""
    begun = time.monotonic()
    async with running(folder, database) as process:
        started = process.started
        async with lines(started.url, "", 1) as (line,):
            session = await signed_in(line, "admin", started.password)
        callers = _Callers(started, session)
        say("warming up")
        await callers.come(seconds / SLICES)
        before = await process.at_rest()
        rss = []
        for number in range(SLICES):
            await callers.come(seconds / SLICES)
            rss.append((await process.settled()).held.rss)
            total = callers.visits.total()
            say(f"{total:,} callers, {rss[-1] / MIB:.1f} MiB, slice {number + 1} of {SLICES}")
        after = await process.at_rest()
        operations = await _operations(started.url)
    return HubReport(
        engine="PostgreSQL" if database else "SQLite",
        seconds=round(time.monotonic() - begun, 1),
        visits=dict(callers.visits),
        operations=operations,
        before=before,
        after=after,
        rss=rss,
        errors=_errors((folder / "log").read_text()),
    )


class _Callers:
    """All who come."""

    def __init__(self, started: Started, session: str) -> None:
        self._started = started
        self._session = session
        self._chance = random.Random(7)
        self.visits: Counter[str] = Counter()

    async def come(self, seconds: float) -> None:
        """One after the other, several at once, for so many seconds."""
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._come_until(end))

    async def _come_until(self, end: float) -> None:
        kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
        while time.monotonic() < end:
            [kind] = self._chance.choices(kinds, weights)
            visit = Visit(
                self._started.url,
                self._started.token,
                self._session,
                self._chance.choice(MODES),
                random.Random(self._chance.random()),
            )
            await kind(visit)
            self.visits[kind.__name__] += 1


async def _line(process: asyncio.subprocess.Process, kind: type[T]) -> T:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return msgspec.json.decode(await process.stdout.readline(), type=kind)


async def _operations(url: str) -> int:
    """How many operations the server counted."""
    parts = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(parts[0], int(parts[1]))
    writer.write(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    page = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    counted = re.findall(r"^accord_operations_total\{[^}]*\} (\d+)", page, re.MULTILINE)
    return sum(map(int, counted))


def _errors(log: str) -> list[str]:
    found: list[dict[str, Any]] = [msgspec.json.decode(line) for line in log.splitlines()]
    return [
        f"{each['message']} {each.get('exception', '')}"
        for each in found
        if each["level"] in ("error", "critical")
    ]
