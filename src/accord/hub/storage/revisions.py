"""Changes and revisions: what was done to which entity, by whom, as differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.hub.domain.diffs import differences
from accord.hub.entities import Difference
from accord.hub.storage.items import ItemRow
from accord.operations.outcome import Change
from accord.operations.work import Database, Effect, Work

ADD_CHANGE: Final = """
INSERT INTO changes
    (id, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
ADD_REVISION: Final = """
INSERT INTO revisions
    (change_id, place, entity_id, kind, reference_id, version, action, before, after)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
SINCE: Final = """
SELECT r.before FROM revisions r
WHERE r.entity_id = $1 AND r.version > $2 AND r.action = 'updated' ORDER BY r.version DESC
"""

UNTOLD: Final = frozenset({"version", "said_version", "updated_at", "position"})
"""Fields that follow from a change, and say nothing themselves."""


async def add(
    work: Work,
    change: Change,
    effects: Sequence[Effect],
    *,
    undoes: str | None,
    proposal_id: str | None,
) -> None:
    """Keep a change and what it did."""
    caller = work.caller
    await work.db.execute(
        ADD_CHANGE,
        *(change.id, work.now, caller.user_id, caller.username, change.operation, caller.face),
        *(caller.client, caller.token_id, change.reason, undoes, proposal_id),
    )
    for place, effect in enumerate(effects):
        before, after = _stored(effect)
        await work.db.execute(
            ADD_REVISION,
            *(change.id, place, effect.id, effect.kind, effect.reference_id, effect.version),
            *(effect.action, before, after),
        )


async def differences_since(db: Database, row: ItemRow, version: int) -> list[Difference]:
    """How an item differs from what it was at an earlier version."""
    now = row.stored()
    then = dict(now)
    for found in await db.fetch(SINCE, row.id, version):
        then.update(msgspec.json.decode(found["before"]))
    return shown(then, now)


def shown(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """How two states differ, as callers see it."""
    return [
        Difference(
            field=each.field,
            before=each.before if each.diff is None else msgspec.UNSET,
            after=each.after if each.diff is None else msgspec.UNSET,
            diff=msgspec.UNSET if each.diff is None else each.diff,
        )
        for each in differences(before, after, UNTOLD)
    ]


def _stored(effect: Effect) -> tuple[str | None, str | None]:
    """Both states as JSON; of an update only what differs."""
    before, after = effect.before, effect.after
    if before is not None and after is not None:
        found = differences(before, after)
        before = {each.field: each.before for each in found}
        after = {each.field: each.after for each in found}
    return _json(before), _json(after)


def _json(fields: Mapping[str, Any] | None) -> str | None:
    return None if fields is None else msgspec.json.encode(fields).decode()
