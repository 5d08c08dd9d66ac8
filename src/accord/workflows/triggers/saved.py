"""Triggers as they are kept: written when a workflow is saved, and ready to start runs."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any, Final
from uuid import UUID, uuid5

from msgspec import Struct, json

from accord.operations.errors import ConflictError
from accord.store.store import Row, Transaction
from accord.workflows.core.definition import Definition, Trigger, TriggerKind
from accord.workflows.core.reading import decode_definition
from accord.workflows.core.triggers import Start, compile_trigger, read_cron
from accord.workflows.storage import definitions, triggers
from accord.workflows.storage.runs import Starter
from accord.workflows.triggers.cron import find_zone, next_fire

_SPACE: Final = UUID("5f3a1c52-7f0e-4c55-9d0b-8f6a2f3f8a11")

_TRIGGERS: json.Decoder[Trigger] = json.Decoder(Trigger)


class Saved(Struct, frozen=True):
    """A trigger as somebody saved it, ready to start runs."""

    id: str
    workflow: str
    version: int
    name: str
    start: Start
    schema: Any
    """Of the workflow's input; None where it has none."""
    saved_by: Starter
    next_at: float | None

    @property
    def kind(self) -> TriggerKind:
        return self.start.trigger.kind


def read_saved(row: Row) -> Saved:
    return Saved(
        row["id"],
        row["workflow"],
        row["version"],
        row["name"],
        _ready(row["spec"]),
        json.decode(row["input"]),
        Starter(user_id=row["user_id"], username=row["username"], scopes=row["scopes"]),
        row["next_at"],
    )


@lru_cache(1_024)
def _ready(spec: str) -> Start:
    return compile_trigger(_TRIGGERS.decode(spec))


async def save_triggers(
    db: Transaction, definition: Definition, version: int, created_by: Starter, now: float
) -> None:
    """Have this version's triggers start runs, as `created_by`, and no other version's. In the
    transaction that saves the version, or that makes it the newest that may be run. Raises
    ConflictError where another workflow has a webhook of the same name."""
    name = definition.name
    due = {row["id"]: row["next_at"] for row in await db.fetch(triggers.TIMES, name)}
    if not due and not definition.on:
        return
    await db.execute(triggers.DELETE, name)
    schema = json.encode(definition.input).decode()
    seen: Counter[tuple[str, ...]] = Counter()
    for trigger in definition.on:
        if trigger.webhook is not None:
            await _check_free(db, trigger.webhook)
        key = _key(trigger)
        seen[key] += 1
        id = str(uuid5(_SPACE, "/".join((name, *key, str(seen[key])))))
        # A time that came while it was saved again is not lost.
        next_at = due.get(id) or first_fire(trigger, now)
        await db.execute(
            triggers.INSERT, id, name, version, trigger.kind, key[1], json.encode(trigger).decode(),
            schema, created_by.user_id, created_by.username, created_by.scopes, next_at,
        )  # fmt: skip
    await db.notify(triggers.WAKE)


async def renew_triggers(db: Transaction, workflow: str, created_by: Starter, now: float) -> None:
    """Have the triggers of the newest version that may be run start runs, and no others: after
    versions were let run, or not. Those that change act as `created_by`."""
    newest = await db.fetch(definitions.NEWEST_ACTIVE, workflow)
    versions = {row["version"] for row in await db.fetch(triggers.VERSIONS, workflow)}
    if versions == {row["version"] for row in newest}:
        return
    if newest:
        definition = decode_definition(newest[0]["definition"])
        await save_triggers(db, definition, newest[0]["version"], created_by, now)
    else:
        await db.execute(triggers.DELETE, workflow)
        await db.notify(triggers.WAKE)


def first_fire(trigger: Trigger, after: float) -> float | None:
    """When a schedule is next; None for other triggers."""
    if trigger.schedule is None:
        return None
    return next_fire(read_cron(trigger.schedule), find_zone(trigger.timezone), after)


def _key(trigger: Trigger) -> tuple[str, ...]:
    """What a trigger is known by from version to version: its kind, its name, its clock."""
    if trigger.schedule is not None:
        return "schedule", trigger.schedule, trigger.timezone
    return trigger.kind, trigger.event or trigger.webhook or ""


async def _check_free(db: Transaction, webhook: str) -> None:
    rows = await db.fetch(triggers.WEBHOOK_OWNER, webhook)
    if rows:
        raise ConflictError(
            f"the workflow {rows[0]['workflow']!r} has a webhook {webhook!r} already"
        )
