"""Event triggers: changes of the hub start runs, in the transaction and as the user of the change.

Most changes start nothing, and cost next to nothing. SQLite is queried each time, by an index,
without leaving its thread. For PostgreSQL that would be a round trip, so the names of events with
triggers are cached for a second, or until a notification that triggers were saved. A trigger that
one process saved may therefore miss the writes of another process within that second.

A write of a run is an event, too. The runs of such a chain are counted, and limited.
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
"""Seconds for which the names of events are cached."""


async def trigger(work: OperationContext, change: RecordedChange) -> None:
    """Start the runs that a change starts; a recorder."""
    if work.effects:
        await work.service(Events).record(work, change)


class Events:
    """The event triggers of one process, and their counters."""

    def __init__(
        self,
        kinds: frozenset[str] | None = None,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`kinds` are the kinds of entities that have events; None if unknown."""
        self.kinds = kinds
        self._now = now
        self._clock = clock
        self._names: frozenset[str] = frozenset()
        self._known_until = -1.0
        self.started = 0
        self.failed_filters = 0
        self.not_started = 0

    async def watch(self, store: Store) -> Callable[[], None]:
        """Listen for triggers that other processes save; call the result to stop."""
        return await store.listen(TRIGGERS_WAKE, self.forget)

    def forget(self) -> None:
        """Read the names of events again before their next use."""
        self._known_until = -1.0

    async def record(self, work: OperationContext, change: RecordedChange) -> None:
        """Start the runs of one change."""
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
        """Write the counters, for Prometheus; runs of rolled-back changes included."""
        for name, about, count in (
            ("runs_started", "Runs that events started.", self.started),
            ("filters_failed", "Filters of events that had no value.", self.failed_filters),
            ("runs_not_started", "Runs that events could not start.", self.not_started),
        ):
            page.family(f"accord_trigger_{name}_total", "counter", about, [((), count)])


def _seen(
    name: str, effect: Effect, change: RecordedChange, work: OperationContext
) -> dict[str, Any]:
    """Return an event, as filters and inputs see it."""
    seen: dict[str, Any] = to_builtins(effect)
    return {
        "name": name,
        **seen,
        "by": work.caller.username,
        "at": work.now,
        "operation": change.operation,
        "change_id": change.id,
    }
