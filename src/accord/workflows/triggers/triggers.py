"""Stored triggers, the runs that they start, and the scheduler.

An occurrence is one change, scheduled time or delivery to which a trigger applies. Its run is
started in the caller's transaction. If an occurrence cannot start a run, it becomes a dead letter.

Schedules follow the wall clock of a timezone. A time that is skipped when the clock is put forward
is moved by the same amount. A time that occurs twice when the clock is put back counts only the
first time. A schedule for every hour follows real time instead: no hour is skipped or counted
twice.

Every process with an executor has a scheduler. One transaction sets the next time of a schedule,
unless another process has done so, and starts the run. The run's id is derived from the schedule
and the time, so each time starts one run, even if several schedulers compete or a process is
killed. If several times of a schedule passed while no scheduler was running, one run is started,
for the first of these times.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Struct, json

from accord.operations.audit.record import AuditSink, Record
from accord.operations.auth.storage import USER_BY_ID
from accord.operations.context import new_id, random_hex, utc_now
from accord.operations.errors import ConflictError
from accord.operations.logs import redact_value
from accord.operations.storage import LANE
from accord.store.store import ReadTransaction, Row, Store, StoreError, Transaction
from accord.workflows.core.definition import Definition, Trigger, TriggerKind
from accord.workflows.core.errors import EvaluationError
from accord.workflows.core.reading import decode_definition
from accord.workflows.core.rules import input_problem
from accord.workflows.core.triggers import Cron, Start, compile_trigger, input_for, read_cron
from accord.workflows.storage import definitions
from accord.workflows.storage.definitions import (
    DUE_TRIGGERS,
    MOVE_TRIGGER,
    NEXT_TRIGGER_TIME,
    TRIGGERS_WAKE,
)
from accord.workflows.storage.messages import NewDeadLetter, insert_dead_letter
from accord.workflows.storage.runs import NewRun, Origin, Starter, create_run, new_traceparent

_MAX_DAYS: Final = 366 * 9
"""The number of days in which the next time of a schedule is searched.

February 29 is at most eight years away.
"""
_DAY: Final = timedelta(days=1)


@lru_cache(1)
def known_timezones() -> frozenset[str]:
    """Return the names of the timezones that this machine has; UTC is always included."""
    return frozenset(available_timezones()) | {"UTC"}


def find_zone(name: str) -> tzinfo:
    """Return the timezone with this name, which must be one of `known_timezones`."""
    return UTC if name == "UTC" else ZoneInfo(name)


def next_fire(cron: Cron, zone: tzinfo, after: float) -> float:
    """Return the first time of a schedule that is later than `after`, in seconds since 1970."""
    # From the day before: a time that was skipped at its end comes later.
    day = datetime.fromtimestamp(after, zone).date() - _DAY
    for _ in range(_MAX_DAYS):
        if cron.has_day(day.month, day.day, day.isoweekday() % 7):
            later = [each for each in _instants(cron, zone, day) if each > after]
            if later:
                return min(later)
        day += _DAY
    raise AssertionError("every schedule that can be read has a day")


def _instants(cron: Cron, zone: tzinfo, day: date) -> Iterator[float]:
    for hour in cron.hours:
        for minute in cron.minutes:
            yield _instant(zone, day, hour, minute, fold=0)
            if cron.every_hour:
                yield _instant(zone, day, hour, minute, fold=1)


def _instant(zone: tzinfo, day: date, hour: int, minute: int, *, fold: int) -> float:
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=fold).timestamp()


_SPACE: Final = UUID("5f3a1c52-7f0e-4c55-9d0b-8f6a2f3f8a11")

_TRIGGERS: json.Decoder[Trigger] = json.Decoder(Trigger)


class SavedTrigger(Struct, frozen=True):
    """A stored trigger with its parsed expressions."""

    id: str
    workflow: str
    version: int
    name: str
    start: Start
    schema: Any
    """The JSON Schema for the workflow's input; None if it has no schema."""
    saved_by: Starter
    next_at: float | None

    @property
    def kind(self) -> TriggerKind:
        return self.start.trigger.kind


def read_trigger(row: Row) -> SavedTrigger:
    """Build a SavedTrigger from its row."""
    return SavedTrigger(
        row["id"],
        row["workflow"],
        row["version"],
        row["name"],
        _compiled(row["spec"]),
        json.decode(row["input"]),
        Starter(user_id=row["user_id"], username=row["username"], scopes=row["scopes"]),
        row["next_at"],
    )


@lru_cache(1_024)
def _compiled(spec: str) -> Start:
    return compile_trigger(_TRIGGERS.decode(spec))


async def save_triggers(
    db: Transaction, definition: Definition, version: int, created_by: Starter, now: float
) -> None:
    """Replace a workflow's triggers by those of this version, saved by `created_by`.

    Call it in the transaction that saves the version or makes it the newest active one. Raise
    ConflictError if another workflow has a webhook of the same name.
    """
    name = definition.name
    due = {row["id"]: row["next_at"] for row in await db.fetch(definitions.TRIGGER_TIMES, name)}
    if not due and not definition.on:
        return
    await db.execute(definitions.DELETE_TRIGGERS, name)
    schema = json.encode(definition.input).decode()
    seen: Counter[tuple[str, ...]] = Counter()
    for trigger in definition.on:
        if trigger.webhook is not None:
            await _check_free(db, trigger.webhook)
        key = _key(trigger)
        seen[key] += 1
        id = str(uuid5(_SPACE, "/".join((name, *key, str(seen[key])))))
        # Keep the time that is due: it may have come while the version was saved.
        next_at = due.get(id) or first_fire(trigger, now)
        await db.execute(
            definitions.INSERT_TRIGGER,
            id, name, version, trigger.kind, key[1], json.encode(trigger).decode(), schema,
            created_by.user_id, created_by.username, created_by.scopes, next_at,
        )  # fmt: skip
    await db.notify(definitions.TRIGGERS_WAKE)


async def renew_triggers(db: Transaction, workflow: str, created_by: Starter, now: float) -> None:
    """Replace the triggers of a workflow by those of its newest active version.

    Call it after versions were activated or deactivated. New triggers are saved by `created_by`.
    """
    newest = await db.fetch(definitions.NEWEST_ACTIVE, workflow)
    versions = {row["version"] for row in await db.fetch(definitions.TRIGGER_VERSIONS, workflow)}
    if versions == {row["version"] for row in newest}:
        return
    if newest:
        definition = decode_definition(newest[0]["definition"])
        await save_triggers(db, definition, newest[0]["version"], created_by, now)
    else:
        await db.execute(definitions.DELETE_TRIGGERS, workflow)
        await db.notify(definitions.TRIGGERS_WAKE)


def first_fire(trigger: Trigger, after: float) -> float | None:
    """Return the first time of a schedule later than `after`; None for other triggers."""
    if trigger.schedule is None:
        return None
    return next_fire(read_cron(trigger.schedule), find_zone(trigger.timezone), after)


def _key(trigger: Trigger) -> tuple[str, ...]:
    """Return the kind, name and timezone of a trigger, which identify it across versions."""
    if trigger.schedule is not None:
        return "schedule", trigger.schedule, trigger.timezone
    return trigger.kind, trigger.event or trigger.webhook or ""


async def _check_free(db: Transaction, webhook: str) -> None:
    rows = await db.fetch(definitions.WEBHOOK_OWNER, webhook)
    if rows:
        raise ConflictError(
            f"the workflow {rows[0]['workflow']!r} has a webhook {webhook!r} already"
        )


def start_record(
    saved: SavedTrigger, run_id: str, correlation_id: str, *, address: str = ""
) -> Record:
    """Return the audit record of a run that a schedule or webhook started.

    Its actor is the user who saved the trigger.
    """
    return Record(
        id=new_id(),
        time=utc_now(),
        actor_id=saved.saved_by.user_id,
        actor=saved.saved_by.username,
        via="system",
        face="system",
        address=address,
        operation=saved.kind,
        target=f"{saved.workflow}@{saved.version}, {run_id}",
        correlation_id=correlation_id,
    )


def refusal_record(webhook: str, reason: str, correlation_id: str, *, address: str) -> Record:
    """Return the audit record of a rejected webhook delivery."""
    return Record(
        id=new_id(),
        time=utc_now(),
        actor_id="",
        actor="",
        via="",
        face="system",
        address=address,
        operation="webhook",
        target=webhook,
        outcome="unauthenticated",
        error=reason,
        correlation_id=correlation_id,
    )


DEAD_LETTER_TOPIC: Final = "triggers"
"""The origin of dead letters of triggers, stored in the column for the topic."""
MAX_OCCURRENCE_TEXT: Final = 4_096
"""The maximum length of an occurrence in its dead letter, in characters."""


class NotStartedError(Exception):
    """A trigger applies but cannot start a run; the message states the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Cause(Struct, frozen=True, kw_only=True):
    """The cause of a triggered run.

    `correlation_id` belongs to the request, and `run` is the id of the run that made the change, if
    any. `chain` is the number of runs before the new one, each of which triggered the next.
    """

    correlation_id: str
    traceparent: str = ""
    run: str = ""
    chain: int = 0


def run_id_for(trigger: SavedTrigger, occurrence: str) -> str:
    """Return the id of the run that a trigger starts for one occurrence.

    The id is derived from the trigger and the occurrence, so a repeated occurrence does not start a
    second run.
    """
    return str(uuid5(UUID(trigger.id), occurrence))


async def start_triggered_run(
    db: Transaction,
    trigger: SavedTrigger,
    seen: Any,
    *,
    run_id: str,
    starter: Starter,
    at: float,
    cause: Cause,
) -> bool:
    """Start a run for a trigger; return False if the id exists already.

    Raise NotStartedError if the trigger's input cannot be evaluated or is invalid.
    """
    return await create_run(
        db,
        NewRun(
            id=run_id,
            workflow=trigger.workflow,
            version=trigger.version,
            input=_run_input(trigger, seen),
            starter=starter,
            origin=_origin(trigger),
            at=at,
            cause=cause.run,
            chain=cause.chain,
            correlation_id=cause.correlation_id,
            traceparent=cause.traceparent or new_traceparent(cause.correlation_id),
        ),
    )


def _origin(trigger: SavedTrigger) -> Origin:
    return trigger.kind


def _run_input(trigger: SavedTrigger, seen: Any) -> Any:
    try:
        value = input_for(trigger.start, seen)
    except EvaluationError as error:
        raise NotStartedError("bad_expression", f"the input has no value: {error}") from error
    checked = Definition(name=trigger.workflow, input=trigger.schema, steps=())
    problem = input_problem(checked, value)
    if problem is not None:
        raise NotStartedError("bad_input", f"the input does not fit the workflow: {problem}")
    return value


async def require_active(db: ReadTransaction, starter: Starter) -> None:
    """Raise NotStartedError if the user who saved a trigger is no longer active."""
    if not starter.user_id:
        return
    rows = await db.fetch(USER_BY_ID, starter.user_id)
    if not rows or not rows[0]["active"]:
        raise NotStartedError(
            "starter_inactive",
            f"{starter.username}, who saved the workflow and in whose name it runs, is not active: "
            "have somebody else save it",
        )


async def store_unstarted(
    db: Transaction,
    trigger: SavedTrigger,
    seen: Any,
    error: NotStartedError,
    *,
    run_id: str,
    at: float,
) -> None:
    """Store an occurrence that could not start a run as a dead letter."""
    await insert_dead_letter(
        db,
        NewDeadLetter(
            id=str(uuid5(UUID(run_id), error.code)),
            kind="message",
            topic=DEAD_LETTER_TOPIC,
            target=trigger.workflow,
            code=error.code,
            message=error.message,
            body=json.encode(redact_value(seen)).decode()[:MAX_OCCURRENCE_TEXT],
            at=at,
        ),
    )


log = logging.getLogger("accord.workflows.triggers")

SCHEDULE_POLL_SECONDS: Final = 5.0
"""The maximum interval in seconds between two checks of the schedules.

A notification may be lost, and a clock may be set.
"""


class Scheduler:
    """A scheduler, which starts the runs of due schedules."""

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
        """Stop the scheduler, which completes or rolls back the run that is being started."""
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
                wait = SCHEDULE_POLL_SECONDS
            except Exception:
                log.exception("schedules could not be looked at")
                wait = SCHEDULE_POLL_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._woken.wait()

    async def fire_due(self) -> float:
        """Start the runs of all due schedules; return the seconds to wait for the next check."""
        failed: set[str] = set()
        while rows := [row for row in await self._due() if row["id"] not in failed]:
            for row in rows:
                try:
                    await self._fire(read_trigger(row))
                except StoreError:
                    raise
                except Exception:  # for example, the timezone was removed from this machine
                    failed.add(row["id"])
                    log.exception("%s was not started by its schedule", row["workflow"])
        if failed:
            return SCHEDULE_POLL_SECONDS
        [row] = await self._store.fetch(NEXT_TRIGGER_TIME)
        if row["next_at"] is None:
            return SCHEDULE_POLL_SECONDS
        return min(max(float(row["next_at"]) - self._now(), 0.0), SCHEDULE_POLL_SECONDS)

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
                return  # another process fired it, or the workflow was saved again
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
