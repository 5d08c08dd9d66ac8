"""Runs that the clock starts.

Every process with an executor looks what is due. Firing is one transaction: it moves the schedule
on if nobody else did, and starts the run, whose id follows from the schedule and the time. So
however many look, and whenever one is killed, each time has one run. Times that passed while nobody
looked are made up for by one run, that of the first of them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from accord.operations.audit.record import AuditSink
from accord.operations.identifiers import random_hex
from accord.operations.storage import LANE
from accord.store.store import Row, Store, StoreError, Transaction
from accord.workflows.storage.definitions import (
    DUE_TRIGGERS,
    MOVE_TRIGGER,
    NEXT_TRIGGER_TIME,
    TRIGGERS_WAKE,
)
from accord.workflows.triggers.triggers import (
    Cause,
    NotStartedError,
    SavedTrigger,
    first_fire,
    read_trigger,
    require_active,
    run_id_for,
    start_record,
    start_triggered_run,
    store_unstarted,
)

log = logging.getLogger("accord.workflows.triggers")

POLL: Final = 5.0
"""Seconds after which schedules are looked at whatever happens: wakes get lost, clocks are set."""


class Scheduler:
    """A scheduler, which starts due runs from `start` to `close`."""

    def __init__(
        self, store: Store, trail: AuditSink, *, now: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._trail = trail
        self._now = now
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stop: Callable[[], None] | None = None

    async def start(self) -> None:
        self._stop = await self._store.listen(TRIGGERS_WAKE, self._woken.set)
        self._task = asyncio.create_task(self._run(), name="accord schedules")

    async def close(self) -> None:
        """Finish the runs that are being started."""
        if self._stop is not None:
            self._stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                wait = await self.fire_due()
            except StoreError as error:
                log.error("schedules could not be looked at: %s", error)
                wait = POLL
            except Exception:
                log.exception("schedules could not be looked at")
                wait = POLL
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._woken.wait()

    async def fire_due(self) -> float:
        """Start due runs; return for how many seconds nothing else may be due."""
        failed: set[str] = set()
        while rows := [row for row in await self._due() if row["id"] not in failed]:
            for row in rows:
                try:
                    await self._fire(read_trigger(row))
                except StoreError:
                    raise
                except Exception:  # such as a timezone that is not known any more
                    failed.add(row["id"])
                    log.exception("%s was not started by its schedule", row["workflow"])
        if failed:
            return POLL
        [row] = await self._store.fetch(NEXT_TRIGGER_TIME)
        if row["next_at"] is None:
            return POLL
        return min(max(float(row["next_at"]) - self._now(), 0.0), POLL)

    async def _due(self) -> list[Row]:
        return await self._store.fetch(DUE_TRIGGERS, self._now())

    async def _fire(self, saved: SavedTrigger) -> None:
        due, now = saved.next_at, self._now()
        assert due is not None, "what is due has a time"
        later = first_fire(saved.start.trigger, max(now, due))
        run_id = run_id_for(saved, f"{due:.0f}")
        seen = {"at": datetime.fromtimestamp(due, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}

        async def work(db: Transaction) -> None:
            if not await db.execute(MOVE_TRIGGER, saved.id, due, later):
                return  # somebody else fired it, or it was saved again
            await self._begin(db, saved, seen, run_id, now)

        await self._store.transact(work, lane=LANE)

    async def _begin(
        self, db: Transaction, saved: SavedTrigger, seen: dict[str, Any], run_id: str, now: float
    ) -> None:
        cause = Cause(correlation_id=random_hex(16))
        try:
            await require_active(db, saved.saved_by)
            made = await start_triggered_run(
                db, saved, seen, run_id=run_id, starter=saved.saved_by, at=now, cause=cause
            )
            if made:
                await self._trail.write(db, start_record(saved, run_id, cause.correlation_id))
        except NotStartedError as error:
            log.error("%s was not started at %s: %s", saved.workflow, seen["at"], error)
            await store_unstarted(db, saved, seen, error, run_id=run_id, at=now)
