"""Retention: archives, if configured, and removes runs that ended long ago.

Each line of the archive is a run with its whole history, as JSON. Lines are synced to disk before
their runs are removed. If the process is killed in between, the runs are archived again later.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import json

from accord.store.store import Store, StoreError
from accord.workflows.storage.leases import Lease
from accord.workflows.storage.runs import MAX_OLD_RUNS, read_old, remove_old

log = logging.getLogger("accord.workflows.retention")

LANE: Final = "retention"
EVERY: Final = 3_600.0
"""The interval between two sweeps, in seconds."""
DAY: Final = 86_400.0


class Retention:
    """A periodic removal of runs that ended more than `keep_days` ago.

    A lease lets one process at a time do it. If `archive` is set, runs are first written to files
    in this folder.
    """

    def __init__(
        self,
        store: Store,
        *,
        keep_days: float,
        archive: Path | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._keep = keep_days * DAY
        self._archive = archive
        self._now = now
        self._lease = Lease(store, LANE, seconds=60.0)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="accord retention")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except (StoreError, OSError) as error:
                log.error("old runs could not be removed: %s", error)
            except Exception:
                log.exception("old runs could not be removed")
            await asyncio.sleep(EVERY)

    async def sweep(self, progress: Callable[[int], None] | None = None) -> int:
        """Remove old runs, unless another process is doing so; return their number.

        `progress` is called with the number of runs removed so far. Raise StoreError if the
        database fails, OSError if the archive cannot be written.
        """
        before, removed = self._now() - self._keep, 0
        try:
            while await self._lease.take():
                some = await self._sweep_some(before)
                removed += some
                if progress is not None:
                    progress(removed)
                if some < MAX_OLD_RUNS:
                    break
        finally:
            await self._lease.release()
        if removed:
            where = f", written to {self._archive}" if self._archive else ""
            log.info("%d runs that ended long ago were removed%s", removed, where)
        return removed

    async def _sweep_some(self, before: float) -> int:
        runs = await self._store.read(lambda db: read_old(db, before))
        if not runs:
            return 0
        if self._archive is not None:
            await asyncio.to_thread(_write, self._archive, runs)
        ids = [run["id"] for run in runs]
        await self._store.transact(lambda db: remove_old(db, ids, before), lane=LANE)
        return len(runs)


def _write(folder: Path, runs: Sequence[dict[str, Any]]) -> None:
    """Append runs to the archive files, one file for each month in which runs ended."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines: dict[str, list[bytes]] = {}
    for run in runs:
        month = datetime.fromtimestamp(run["finished_at"], UTC).strftime("%Y-%m")
        lines.setdefault(month, []).append(json.encode(run) + b"\n")
    for month, some in lines.items():
        fd = os.open(folder / f"runs-{month}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(fd, "ab") as file:
            file.writelines(some)
            file.flush()
            os.fsync(file.fileno())
