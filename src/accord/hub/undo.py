"""Undo: revert a change by inverting its effects, the last one first.

If a later change affected the same entities, nothing is undone, and the error names the later
changes. A later change that was undone does not count, and neither does its undo, so changes can be
undone one after the other, and an undo can be undone. A restored status need not be a valid next
status; restored values must fit the current data, as in every write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from accord.hub import lifecycle
from accord.hub.domain.rules import KINDS
from accord.hub.storage import items, relationships, revisions, rows
from accord.hub.storage.revisions import ChangeRow, RevisionRow
from accord.operations.context import Database, Effect, OperationContext
from accord.operations.errors import ConflictError, ForbiddenError
from accord.store.store import ConstraintError

ASIDE: Final = frozenset({"proposal"})
"""Kinds of entities that an undo leaves unchanged, because they led to the change."""
OF_ADMINISTRATORS: Final = frozenset({"prompt", "requirement_type", "relationship_type"})
MAX_NAMED: Final = 20


def can_be_undone(kinds: Iterable[str]) -> bool:
    """Return whether a change of entities of these kinds can be undone at all."""
    touched = set(kinds) - ASIDE - {"change"}
    return bool(touched) and touched <= rows.TABLES.keys()


async def undo(work: OperationContext, change_id: str) -> ChangeRow:
    """Undo a change; return it.

    Raises NotFoundError if there is none, ForbiddenError if another person made it and the caller
    is no administrator, and ConflictError if later changes or the current data prevent it.
    """
    change = await revisions.find_change(work.db, change_id)
    if change.actor_id != work.caller.user_id and not work.caller.is_administrator:
        raise ForbiddenError(f"the change was made by {change.actor}")
    if change.undone_by is not None:
        raise ConflictError(
            "the change was undone already: undo that to have it again",
            undone_by=change.undone_by,
        )
    await _check_newest(work.db, change)
    done = await revisions.revisions_of_change(work.db, change.id)
    done = [each for each in done if each.kind not in ASIDE]
    _check_kinds(work, done)
    try:
        # In reverse: a row that others of the same change refer to was created before them.
        for revision in reversed(done):
            await _invert(work, revision)
    except ConstraintError as error:
        raise ConflictError(
            "something that was done since stands in the way, such as a name that is taken"
        ) from error
    work.record(Effect(action="updated", kind="change", id=change.id))
    return change


async def _check_newest(db: Database, change: ChangeRow) -> None:
    """Raise ConflictError if later changes affected the same entities."""
    later: dict[str, Any] = {}
    for row in await revisions.newer(db, change):
        later.setdefault(row["id"], row)
    for id in list(later):
        # Newest first: an undo cancels out with the change that it undid.
        if id in later and later[id]["undoes"] in later:
            del later[later[id]["undoes"]], later[id]
    if later:
        named = [
            f"{row['operation']} on {row['reference_id'] or 'it'} by {row['actor']}"
            for row in list(later.values())[:MAX_NAMED]
        ]
        raise ConflictError(
            f"it was changed since: {', '.join(named)}",
            newer_changes=list(later)[:MAX_NAMED],
            total=len(later),
        )


def _check_kinds(work: OperationContext, done: list[RevisionRow]) -> None:
    """Raise ConflictError if a change affected entities that cannot be restored.

    Raises ForbiddenError if only administrators may undo it and the caller is none.
    """
    kinds = {each.kind for each in done}
    fixed = sorted(kinds - rows.TABLES.keys())
    if fixed or not done:
        what = ", ".join(fixed).replace("_", " ") or "it"
        raise ConflictError(f"{what} cannot be undone")
    if kinds & OF_ADMINISTRATORS:
        work.caller.require("admin", "to undo this")


async def _invert(work: OperationContext, revision: RevisionRow) -> None:
    match revision.action:
        case "created":
            await _remove(work, revision)
        case "deleted":
            await _restore(work, revision)
        case "updated":
            await _reset(work, revision)


async def _remove(work: OperationContext, revision: RevisionRow) -> None:
    table, key = _key(revision)
    before = await _current(work.db, revision, key)
    if revision.kind in KINDS:
        await _check_alone(work.db, revision)
    await rows.delete(work.db, table.name, key)
    work.record(_effect(revision, before, None))


async def _restore(work: OperationContext, revision: RevisionRow) -> None:
    values = dict(revision.before or {})
    if "updated_at" in values:
        values["updated_at"] = work.now
    if revision.kind == "relationship":
        await _check_link(work.db, values)
    await rows.insert(work.db, rows.TABLES[revision.kind].name, values)
    await _check_criteria(work.db, revision, values)
    work.record(_effect(revision, None, values))


async def _reset(work: OperationContext, revision: RevisionRow) -> None:
    table, key = _key(revision)
    before = await _current(work.db, revision, key)
    values = dict(revision.before or {})
    if "updated_at" in values:
        values["updated_at"] = work.now
    if "version" in values:
        # Versions only grow, or a stale `expected_version` would fit again.
        values["version"] = before["version"] + 1
    if "said_version" in values and await _is_remembered(work.db, revision):
        # Links confirmed for the content that is undone become suspect. Without such links the old
        # `said_version` returns, so links to the old content stop being suspect.
        values["said_version"] = values["version"]
    if revision.kind == "relationship" and "type" in values:
        await _check_link(work.db, before | values)
    await rows.update(work.db, table.name, key, values)
    after = before | values
    await _check_criteria(work.db, revision, after)
    if revision.kind == "acceptance_criteria":
        row = await items.find(work.db, revision.entity_id)
        await lifecycle.check_requirements_of(work.db, row, values)
    work.record(_effect(revision, before, after))


async def _current(db: Database, revision: RevisionRow, key: Mapping[str, Any]) -> dict[str, Any]:
    """Return the current columns of an entity; raise ConflictError if it is gone."""
    found = await rows.get(db, rows.TABLES[revision.kind], key)
    if found is None:
        raise ConflictError(f"{revision.reference_id or revision.kind} is not there any more")
    if revision.kind in KINDS:
        return (await items.find(db, revision.entity_id)).stored()
    return found


async def _check_alone(db: Database, revision: RevisionRow) -> None:
    """Raise ConflictError if the item that the change created has got additions.

    Additions are children, links, comments, labels and suppressed lint rules.
    """
    row = await items.find(db, revision.entity_id)
    await lifecycle.check_deletable(db, row)
    attached = await items.count_attached(db, row.id)
    added = [f"{total:,} {what}" for what, total in attached.items() if total]
    if added:
        raise ConflictError(f"{row.reference_id} has {', '.join(added)} by now")


async def _check_criteria(db: Database, revision: RevisionRow, values: Mapping[str, Any]) -> None:
    """Raise InvalidError unless a requirement and its criteria share a user story.

    The requirement or the criteria may have moved to another user story since the change that is
    undone.
    """
    if revision.kind == "requirement":
        await lifecycle.check_criteria_of(db, values["parent_id"], values["criteria_id"])


async def _check_link(db: Database, values: Mapping[str, Any]) -> None:
    """Raise ConflictError if a restored link is a duplicate or closes a cycle.

    Newer links may cause either. Also raised if an end of the link does not exist any more.
    """
    source = await items.lookup(db, values["source_id"])
    target = await items.lookup(db, values["target_id"])
    if source is None or target is None:
        raise ConflictError("an end of the relationship is not there any more")
    await lifecycle.check_link(
        db, source, target, await relationships.find_type(db, values["type"])
    )


async def _is_remembered(db: Database, revision: RevisionRow) -> bool:
    """Return whether a link was made or confirmed for the content that is undone."""
    version = (revision.after or {})["said_version"]
    return await relationships.is_confirmed(db, revision.entity_id, version)


def _key(revision: RevisionRow) -> tuple[rows.Table, dict[str, Any]]:
    """Return the table and the current key of a revision's row."""
    table = rows.TABLES[revision.kind]
    after = revision.after or {}
    return table, {
        column: after.get(column, value)
        for column, value in table.key_of(revision.entity_id).items()
    }


def _effect(
    revision: RevisionRow, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> Effect:
    return Effect(
        action="created" if before is None else "deleted" if after is None else "updated",
        kind=revision.kind,
        id=revision.entity_id,
        reference_id=revision.reference_id,
        version=(after or before or {}).get("version", 0),
        before=before,
        after=after,
    )
