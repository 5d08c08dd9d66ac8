"""Event triggers: a change in the hub starts runs.

A run starts in the transaction of the change, as the user who made it. The check must be cheap,
because most changes start nothing. With SQLite, each change queries an index, without leaving the
database's thread. With PostgreSQL that would take a round trip, so the names of events that have
triggers are cached, for a second or until triggers change. Within that second, a trigger saved by
another process may be missed.

A change made by a run can start another run. The length of such a chain is limited.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import to_builtins

from accord.operations.context import Effect, OperationContext
from accord.operations.operation import RecordedChange
from accord.store.store import Row, Store, StoreError
from accord.telemetry.metrics import Exposition
from accord.workflows.core.errors import MAX_CHAIN, EvaluationError
from accord.workflows.core.triggers import applies
from accord.workflows.storage.definitions import EVENT_TRIGGERS, TRIGGER_EVENT_NAMES, TRIGGERS_WAKE
from accord.workflows.storage.runs import chain_after, starter_of
from accord.workflows.triggers.triggers import (
    Cause,
    NotStartedError,
    SavedTrigger,
    read_trigger,
    run_id_for,
    start_triggered_run,
    store_unstarted,
)

log = logging.getLogger("accord.workflows.triggers")

CACHE_SECONDS: Final = 1.0
"""How long the names of events with triggers are cached, in seconds."""


async def trigger(work: OperationContext, change: RecordedChange) -> None:
    """Start the runs that a recorded change triggers.

    The function is a `Recorder`: it is called for each change that an operation records.
    """
    if work.effects:
        await work.service(Events).record(work, change)


class Events:
    """The event triggers in one process, with counters."""

    def __init__(
        self,
        kinds: frozenset[str] | None = None,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Store the kinds of entities whose changes can start runs.

        `kinds` is None if they are not known.
        """
        self.kinds = kinds
        self._now = now
        self._clock = clock
        self._names: frozenset[str] = frozenset()
        self._known_until = -1.0
        self.started = 0
        self.failed_filters = 0
        self.not_started = 0

    async def watch(self, store: Store) -> Callable[[], None]:
        """Start to listen for changes of triggers; return a function that stops it."""
        return await store.listen(TRIGGERS_WAKE, self.forget)

    def forget(self) -> None:
        """Clear the cached names of events."""
        self._known_until = -1.0

    async def record(self, work: OperationContext, change: RecordedChange) -> None:
        """Start the runs that one change triggers."""
        named = [(f"{effect.kind}.{effect.action}", effect) for effect in work.effects]
        names = sorted({name for name, _ in named})
        found = await self._find(work, names)
        if not found:
            return
        cause = await self._cause(work)
        for place, (name, effect) in enumerate(named):
            for row in found.get(name, ()):
                try:
                    seen = _seen(name, effect, change, work)
                    await self._consider(work, read_trigger(row), seen, place, cause)
                except StoreError:
                    raise
                except Exception:  # a broken workflow must not prevent the change
                    self.not_started += 1
                    log.exception("%s was not started by %s", row["workflow"], name)

    async def _find(self, work: OperationContext, names: Sequence[str]) -> dict[str, list[Row]]:
        if work.engine == "postgresql":
            if self._clock() >= self._known_until:
                rows = await work.db.fetch(TRIGGER_EVENT_NAMES)
                self._names = frozenset(row["name"] for row in rows)
                self._known_until = self._clock() + CACHE_SECONDS
            names = [name for name in names if name in self._names]
            if not names:
                return {}
        places = ", ".join(f"${place}" for place in range(1, len(names) + 1))
        found: dict[str, list[Row]] = {}
        for row in await work.db.fetch(EVENT_TRIGGERS.format(places=places), *names):
            found.setdefault(row["name"], []).append(row)
        return found

    async def _cause(self, work: OperationContext) -> Cause:
        caller = work.caller
        return Cause(
            correlation_id=caller.correlation_id,
            traceparent=caller.traceparent,
            run=caller.run_id,
            chain=await chain_after(work.db, caller.run_id),
        )

    async def _consider(
        self,
        work: OperationContext,
        saved: SavedTrigger,
        seen: dict[str, Any],
        place: int,
        cause: Cause,
    ) -> None:
        try:
            if not applies(saved.start, seen):
                return
        except EvaluationError as error:
            self.failed_filters += 1
            log.warning("the filter of %s for %s failed: %s", saved.workflow, saved.name, error)
            return
        run_id = run_id_for(saved, f"{seen['change_id']}/{place}")
        at = self._now()
        try:
            if cause.chain > MAX_CHAIN:
                raise NotStartedError(
                    "chain_too_long",
                    f"{cause.chain} runs were started by what runs wrote, one after the other, and "
                    f"the limit is {MAX_CHAIN}: does {saved.workflow} start itself?",
                )
            await start_triggered_run(
                work.db,
                saved,
                seen,
                run_id=run_id,
                starter=starter_of(work.caller),
                at=at,
                cause=cause,
            )
            self.started += 1
        except NotStartedError as error:
            self.not_started += 1
            log.warning("%s was not started by %s: %s", saved.workflow, saved.name, error)
            await store_unstarted(work.db, saved, seen, error, run_id=run_id, at=at)

    def write(self, page: Exposition) -> None:
        """Write the counters to a Prometheus page; they include runs of rolled-back changes."""
        for name, about, count in (
            ("runs_started", "Runs that events started.", self.started),
            ("filters_failed", "Filters of events that had no value.", self.failed_filters),
            ("runs_not_started", "Runs that events could not start.", self.not_started),
        ):
            page.family(f"accord_trigger_{name}_total", "counter", about, [((), count)])


def _seen(
    name: str, effect: Effect, change: RecordedChange, work: OperationContext
) -> dict[str, Any]:
    """Return the variable `event` for a trigger's filter and input."""
    seen: dict[str, Any] = to_builtins(effect)
    return {
        "name": name,
        **seen,
        "by": work.caller.username,
        "at": work.now,
        "operation": change.operation,
        "change_id": change.id,
    }
