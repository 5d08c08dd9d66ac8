"""Changes and revisions: what was done to which entity, by whom, as differences.

The last part reads changes, audit records, revisions and baseline entries for the proof that rows
are what operations wrote. It reads them as they are, since somebody may have edited them by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.hub.domain.rules import Reference
from accord.hub.domain.text import differences
from accord.hub.entities import Difference
from accord.hub.storage import rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.rows import StatePair, named_differences, places
from accord.operations.context import Action, Database, Effect, OperationContext, is_uuid
from accord.operations.errors import NotFoundError
from accord.operations.operation import RecordedChange
from accord.store.store import Row

ADD_CHANGE: Final = """
INSERT INTO changes
    (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes,
     proposal_id)
SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM changes
"""
ADD_REVISION: Final = """
INSERT INTO revisions
    (change_id, place, entity_id, kind, reference_id, version, action, before, after, item_id,
     other_item_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
# For PostgreSQL, where every statement is a round trip: all revisions in one.
ADD_REVISIONS: Final = """
INSERT INTO revisions SELECT * FROM json_populate_recordset(NULL::revisions, $1::json)
"""
SINCE: Final = """
SELECT r.before FROM revisions r
WHERE r.entity_id = $1 AND r.version > $2 AND r.action = 'updated' ORDER BY r.version DESC
"""
FORMER_VALUES: Final = """
SELECT before FROM revisions WHERE entity_id = $1 AND kind = $2 AND action = 'updated'
"""
CHANGES: Final = """
SELECT c.id, c.sequence, c.time, c.actor_id, c.actor, c.operation, c.face, c.client,
       tokens.name AS token, c.reason, c.undoes, undone.id AS undone_by, c.proposal_id,
       proposer.username AS proposed_by, proposals.face AS proposed_face,
       proposals.client AS proposed_client, proposal_tokens.name AS proposed_token
FROM changes c
LEFT JOIN changes undone ON undone.undoes = c.id
LEFT JOIN tokens ON tokens.id = c.token_id
LEFT JOIN proposals ON proposals.id = c.proposal_id
LEFT JOIN users proposer ON proposer.id = proposals.author_id
LEFT JOIN tokens proposal_tokens ON proposal_tokens.id = proposals.token_id
"""
REVISIONS: Final = """
SELECT change_id, place, entity_id, kind, reference_id, version, action, before, after
FROM revisions
"""
OF_ENTITY: Final = "r.entity_id = $1"
WITH_RELATED: Final = """
(r.entity_id = $1 OR r.item_id = $1 OR r.other_item_id = $1)
AND NOT (r.kind = 'comment' AND r.action = 'created')
"""
"""The condition for revisions of an item and of its links, labels, comments and suppressed lint
rules. Revisions that add a comment are excluded, since the item's page shows all comments."""
HISTORY: Final = """
SELECT r.change_id, r.place, r.entity_id, r.kind,
       CASE WHEN r.reference_id <> '' THEN r.reference_id ELSE COALESCE((
           SELECT named.reference_id FROM revisions named
           WHERE named.entity_id = r.entity_id AND named.reference_id <> '' LIMIT 1), '')
       END AS reference_id,
       r.version, r.action, r.before, r.after, c.sequence
FROM revisions r JOIN changes c ON c.id = r.change_id
WHERE {which} AND (c.sequence, r.place) < ($2, CAST($3 AS bigint))
ORDER BY c.sequence DESC, r.place DESC LIMIT $4
"""
COUNT: Final = "SELECT COUNT(*) AS total FROM revisions r WHERE {which}"
ABOUT: Final = """
SELECT change_id, kind, reference_id FROM revisions
WHERE change_id IN ({places}) AND place < {most} ORDER BY change_id, place
"""
TOUCHED: Final = """
SELECT change_id, MAX(place) + 1 AS total FROM revisions
WHERE change_id IN ({places}) GROUP BY change_id
"""
ITEMS_OF: Final[dict[str, tuple[str, ...]]] = {
    "relationship": ("source_id", "target_id"),
    "steering_link": ("steering_id", "epic_id"),
    "item_label": ("item_id",),
    "lint_suppression": ("item_id",),
    "comment": ("target_id",),
}
"""The columns that contain item ids, by kind of entity.

The history of these items includes the revisions of the entity, such as a link."""
MAX_ABOUT: Final = 3
"""The maximum number of affected entities that a list names for each change."""
FORMER: Final = """
SELECT r.entity_id FROM revisions r JOIN changes c ON c.id = r.change_id
WHERE r.reference_id = $1 AND r.kind = $2 ORDER BY c.sequence DESC LIMIT 1
"""
NEWS: Final = "c.operation NOT IN ('create_view', 'update_view', 'delete_view')"
"""The condition that leaves out changes of saved views, which people make for themselves."""
LAST: Final = "SELECT COALESCE(MAX(sequence), 0) AS sequence FROM changes"
AFTER: Final = """
SELECT c.sequence, r.change_id, r.place, r.entity_id, r.kind, r.reference_id, r.action,
       r.before, r.after
FROM changes c JOIN revisions r ON r.change_id = c.id
WHERE c.sequence >= $1 AND (c.sequence, r.place) > ($1, $2)
ORDER BY c.sequence, r.place LIMIT $3
"""
NEWER: Final = """
SELECT c.id, c.undoes, c.operation, c.actor, r.reference_id
FROM revisions r JOIN changes c ON c.id = r.change_id
WHERE r.entity_id IN (SELECT entity_id FROM revisions WHERE change_id = $1) AND c.sequence > $2
ORDER BY c.sequence DESC, r.place
"""


class ChangeRow(Struct, frozen=True):
    """One change, with its undo and its proposal."""

    id: str
    sequence: int
    time: str
    actor_id: str
    actor: str
    operation: str
    face: str
    client: str
    token: str | None
    reason: str
    undoes: str | None
    undone_by: str | None
    proposal_id: str | None
    proposed_by: str | None
    proposed_face: str | None
    proposed_client: str | None
    proposed_token: str | None


class RevisionRow(Struct, frozen=True):
    """The effect of a change on one entity."""

    change_id: str
    place: int
    entity_id: str
    kind: str
    reference_id: str
    version: int
    action: Action
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class ItemHistoryRow(RevisionRow, frozen=True):
    """A revision with the sequence of its change."""

    sequence: int


class ChangeSubject(Struct, frozen=True):
    """A short list of the entities that a change affected."""

    named: tuple[str, ...]
    total: int


async def add(
    work: OperationContext,
    change: RecordedChange,
    effects: Sequence[Effect],
    *,
    reason: str,
    undoes: str | None,
    proposal_id: str | None,
) -> None:
    """Record a change and its effects."""
    # On PostgreSQL `execute_later` joins a statement to the next one: no round trip of its own.
    caller = work.caller
    about = (
        *(change.id, work.now, caller.user_id, caller.username, change.operation, caller.face),
        *(caller.client, caller.token_id, reason, undoes, proposal_id),
    )
    done = [_columns(change.id, place, effect) for place, effect in enumerate(effects)]
    await work.db.execute_later(ADD_CHANGE, *about)
    if work.engine == "postgresql":  # all rows in one statement; SQLite has no round trips
        await work.db.execute_later(ADD_REVISIONS, msgspec.json.encode(done).decode())
        return
    for each in done:
        await work.db.execute(ADD_REVISION, *each.values())


def _columns(change_id: str, place: int, effect: Effect) -> dict[str, Any]:
    before, after = _stored(effect)
    item_id, other_item_id = items_of(effect.kind, effect.after or effect.before or {})
    return {
        "change_id": change_id,
        "place": place,
        "entity_id": effect.id,
        "kind": effect.kind,
        "reference_id": effect.reference_id,
        "version": effect.version,
        "action": effect.action,
        "before": before,
        "after": after,
        "item_id": item_id,
        "other_item_id": other_item_id,
    }


def items_of(kind: str, row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the ids of the items that a link, a label or a comment belongs to.

    There are at most two; missing ones are None.
    """
    columns = ITEMS_OF.get(kind, ())
    ids = [row.get(column) for column in columns]
    return (*ids, None, None)[0], (*ids, None, None)[1]


async def find_change(db: Database, id: str) -> ChangeRow:
    """Return the change with this id.

    Raises NotFoundError if there is none.
    """
    found = await db.fetch(f"{CHANGES} WHERE c.id = $1", id.lower()) if is_uuid(id) else []
    if not found:
        raise NotFoundError(f"there is no change {id!r}")
    return _change(found[0])


async def changes(db: Database, ids: Sequence[str]) -> dict[str, ChangeRow]:
    """Return the changes with these ids, by id."""
    found = await db.fetch(f"{CHANGES} WHERE c.id IN ({rows.places(len(ids))})", *ids)
    return {row["id"]: _change(row) for row in found}


async def newest(db: Database, actor_id: str | None, before: int, limit: int) -> list[ChangeRow]:
    """Return the changes before a sequence number, newest first.

    With `actor_id`, only changes by this person are returned.
    """
    by, of = _of_actor(actor_id)
    found = await db.fetch(
        f"{CHANGES} WHERE {by} AND c.sequence < ${len(of) + 1} "
        f"ORDER BY c.sequence DESC LIMIT {limit}",
        *(*of, before),
    )
    return [_change(row) for row in found]


async def count(db: Database, actor_id: str | None) -> int:
    """Return the number of all changes, or of those by one person."""
    by, of = _of_actor(actor_id)
    return await rows.total(db, f"SELECT COUNT(*) AS total FROM changes c WHERE {by}", *of)


async def news(db: Database, before: int, limit: int) -> list[ChangeRow]:
    """Return the changes before a sequence number, newest first.

    Changes of saved views are left out.
    """
    found = await db.fetch(
        f"{CHANGES} WHERE {NEWS} AND c.sequence < $1 ORDER BY c.sequence DESC LIMIT $2",
        *(before, limit),
    )
    return [_change(row) for row in found]


async def count_news(db: Database) -> int:
    """Return the number of all changes that `news` has on all its pages."""
    return await rows.total(db, f"SELECT COUNT(*) AS total FROM changes c WHERE {NEWS}")


async def newer(db: Database, change: ChangeRow) -> list[Row]:
    """Return later changes that affect the same entities as a change, newest first.

    A later change is returned once for each entity that both changes affect. `NEWER` names the
    columns of the rows.
    """
    return await db.fetch(NEWER, change.id, change.sequence)


async def last_sequence(db: Database) -> int:
    """Return the sequence of the newest change; 0 if there are no changes."""
    sequence: int = (await db.fetch(LAST))[0]["sequence"]
    return sequence


async def after(db: Database, sequence: int, place: int, limit: int) -> list[Row]:
    """Return the revisions after a position, in order.

    A position is the sequence number of a change and a place among its revisions. Rows have the
    columns of `AFTER`, with states as JSON.
    """
    return await db.fetch(AFTER, sequence, place, limit)


async def history(
    db: Database, entity_id: str, *, related: bool, before: tuple[int, int], limit: int
) -> list[ItemHistoryRow]:
    """Return revisions of an entity before a position, newest first.

    A position is the sequence number of a change and a place among its revisions. `related` adds
    the revisions of an item's links, labels, comments and suppressed lint rules.
    """
    statement = HISTORY.format(which=WITH_RELATED if related else OF_ENTITY)
    found = await db.fetch(statement, entity_id, *before, limit)
    return [ItemHistoryRow(*(*_values(row), row["sequence"])) for row in found]


async def count_history(db: Database, entity_id: str, *, related: bool) -> int:
    """Return the number of revisions that `history` has in all."""
    return await rows.total(
        db, COUNT.format(which=WITH_RELATED if related else OF_ENTITY), entity_id
    )


async def former_entity(db: Database, reference: Reference) -> str | None:
    """Return the id of the last entity that had a reference id, or None."""
    found = await db.fetch(FORMER, str(reference), reference.kind)
    return found[0]["entity_id"] if found else None


async def about(db: Database, change_ids: Sequence[str]) -> dict[str, ChangeSubject]:
    """Return the affected entities by change; changes without effects are missing."""
    if not change_ids:
        return {}
    places = rows.places(len(change_ids))
    named: dict[str, list[str]] = {}
    for row in await db.fetch(ABOUT.format(places=places, most=MAX_ABOUT), *change_ids):
        named.setdefault(row["change_id"], []).append(row["reference_id"] or row["kind"])
    return {
        id: ChangeSubject(tuple(named[id]), total)
        for id, total in (await totals(db, change_ids)).items()
    }


async def totals(db: Database, change_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of affected entities by change.

    Changes without effects are missing.
    """
    statement = TOUCHED.format(places=rows.places(len(change_ids)))
    return {row["change_id"]: row["total"] for row in await db.fetch(statement, *change_ids)}


async def first_revisions(db: Database, change_ids: Sequence[str], limit: int) -> list[RevisionRow]:
    """Return the first revisions of each change, at most `limit` for each, in order."""
    places = rows.places(len(change_ids))
    found = await db.fetch(
        f"{REVISIONS}WHERE change_id IN ({places}) AND place < {limit} ORDER BY place", *change_ids
    )
    return [_revision(row) for row in found]


async def revisions_of_change(db: Database, change_id: str) -> list[RevisionRow]:
    """Return the effects of a change, in order."""
    found = await db.fetch(f"{REVISIONS} WHERE change_id = $1 ORDER BY place", change_id)
    return [_revision(row) for row in found]


async def state_at(db: Database, row: ItemRow, version: int) -> dict[str, Any]:
    """Return the state of an item at a version, by reverting later revisions."""
    state = row.stored()
    for found in await db.fetch(SINCE, row.id, version):
        state.update(msgspec.json.decode(found["before"]))
    return state


async def differences_since(db: Database, row: ItemRow, version: int) -> list[Difference]:
    """Return the differences between an item and one of its earlier versions."""
    then = await state_at(db, row, version)
    return (await named_differences(db, [StatePair(row.kind, then, row.stored())]))[0]


async def former_values(db: Database, row: ItemRow, field: str) -> set[Any]:
    """Return the values that a field of an item had before it was changed."""
    befores = [
        msgspec.json.decode(found["before"])
        for found in await db.fetch(FORMER_VALUES, row.id, row.kind)
    ]
    return {before[field] for before in befores if field in before}


def _stored(effect: Effect) -> tuple[str | None, str | None]:
    """Return the states before and after an effect, as JSON.

    The states of an update have only the changed fields.
    """
    before, after = effect.before, effect.after
    if before is not None and after is not None:
        found = differences(before, after)
        before = {each.field: each.before for each in found}
        after = {each.field: each.after for each in found}
    return _json(before), _json(after)


def _of_actor(actor_id: str | None) -> tuple[str, tuple[str, ...]]:
    return ("1 = 1", ()) if actor_id is None else ("c.actor_id = $1", (actor_id,))


def _change(row: Row) -> ChangeRow:
    return ChangeRow(*row)


def _revision(row: Row) -> RevisionRow:
    return RevisionRow(*_values(row))


def _values(row: Row) -> list[Any]:
    """Return the values of a row that begins with the columns of `REVISIONS`."""
    values = list(row)[:9]
    values[7:] = [_decoded(values[7]), _decoded(values[8])]
    return values


def _json(fields: Mapping[str, Any] | None) -> str | None:
    return None if fields is None else msgspec.json.encode(fields).decode()


def _decoded(text: str | None) -> dict[str, Any] | None:
    return None if text is None else msgspec.json.decode(text)


HUB_MIGRATIONS: Final = "SELECT name FROM accord_migrations WHERE part = 'hub'"
RECORDED_CHANGES: Final = """
SELECT c.id AS change_key, c.sequence AS change_sequence, c.actor_id AS change_actor_id,
       c.actor AS change_actor, c.operation AS change_operation, c.face AS change_face,
       c.token_id AS change_token_id, c.client AS change_client, c.undoes, c.proposal_id, r.*
FROM changes c LEFT JOIN audit_records r ON r.change_id = c.id
WHERE c.sequence > $1 ORDER BY c.sequence LIMIT $2
"""
REVISIONS_OF_CHANGES: Final = """
SELECT * FROM revisions WHERE change_id IN ({places}) ORDER BY change_id, place
"""
FORMER_STATES: Final = """
SELECT r.action, r.before FROM revisions r JOIN changes c ON c.id = r.change_id
WHERE r.entity_id = $1 AND r.kind = $2 ORDER BY c.sequence, r.place
"""
STRAY_REVISIONS: Final = """
SELECT r.change_id, COUNT(*) AS total FROM revisions r LEFT JOIN changes c ON c.id = r.change_id
WHERE c.id IS NULL GROUP BY r.change_id LIMIT 100
"""
RECORDS_WITHOUT_CHANGE: Final = """
SELECT r.* FROM audit_records r LEFT JOIN changes c ON c.id = r.change_id
WHERE r.change_id <> '' AND c.id IS NULL AND r.operation IN ({places})
ORDER BY r.change_id LIMIT 1000
"""
BASELINE_ENTRIES: Final = """
SELECT entity_id, kind, reference_id, version, content FROM baseline_entries
WHERE baseline_id = $1
"""


async def hub_migrations(db: Database) -> set[str]:
    """Return the names of the hub's migrations that have been run."""
    return {row["name"] for row in await db.fetch(HUB_MIGRATIONS)}


async def recorded_changes(db: Database, after: Any, limit: int) -> list[Row]:
    """Return changes after a sequence, each with the columns of its audit record."""
    return await db.fetch(RECORDED_CHANGES, after, limit)


async def revisions_of_changes(db: Database, change_ids: Sequence[str]) -> list[Row]:
    """Return the revisions of changes, in order."""
    return await db.fetch(REVISIONS_OF_CHANGES.format(places=places(len(change_ids))), *change_ids)


async def former_states(db: Database, id: str, kind: str) -> list[Any]:
    """Return the `before` states in the revisions of an entity, oldest first."""
    return [row["before"] for row in await db.fetch(FORMER_STATES, id, kind)]


async def stray_revisions(db: Database) -> list[tuple[Any, int]]:
    """Return the ids of missing changes, each with its number of revisions."""
    return [(row["change_id"], row["total"]) for row in await db.fetch(STRAY_REVISIONS)]


async def records_without_change(db: Database, operations: Sequence[str]) -> list[Row]:
    """Return audit records of these operations that name a missing change."""
    return await db.fetch(
        RECORDS_WITHOUT_CHANGE.format(places=places(len(operations))), *operations
    )


async def baseline_entries(db: Database, id: str) -> list[Row]:
    """Return all entries of a baseline."""
    return await db.fetch(BASELINE_ENTRIES, id)
