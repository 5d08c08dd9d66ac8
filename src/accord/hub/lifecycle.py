"""Items come and change: the rules that hold, whatever the kind, and the effects that tell of it.

Deletion is in `accord.hub.deletion`, places among siblings in `accord.hub.places`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from accord.hub.domain.choices import no_such
from accord.hub.domain.errors import RuleError
from accord.hub.domain.folding import fold
from accord.hub.domain.hierarchy import check_criteria
from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.domain.plain_text import fault_of_line, fault_of_text
from accord.hub.domain.statuses import check_transition
from accord.hub.domain.suspects import says_something_else
from accord.hub.storage import counters, items, people, rows, types
from accord.hub.storage.differences import PARENT_FIELD
from accord.hub.storage.items import ItemRow
from accord.hub.storage.revisions import differences_since
from accord.operations.errors import ConflictError, InvalidError, StaleError
from accord.operations.work import Database, Effect, Work

LINES: Final = ("title",)
TEXTS: Final = ("description", "content")
MAX_NAMED: Final = 20
"""The maximum number of requirements named in the error."""


async def create(work: Work, kind: Kind, **fields: Any) -> ItemRow:
    """Create an item that belongs to the caller. Raises ServiceError.

    `fields` have the names that callers use.
    """
    # Taken out before `_columns`: `reserve_item` looks the parent up in the same statement.
    parent = fields.pop(PARENT_FIELD.get(kind, ""), None)
    values = await _columns(work, kind, fields)
    if fields.get("assignee") is UNSET:
        values["assignee_id"] = work.caller.user_id
    asked = values.get("type", "")
    following = await counters.next_item(work.db, kind, parent, fold(asked))
    if parent is not None:
        known = following.parent_id
        values["parent_id"] = known or (await items.find(work.db, parent, KINDS[kind].parent)).id
    await check_criteria_of(work.db, values.get("parent_id"), values.get("criteria_id"))
    if asked:
        values["type"] = following.type or await find_type(work.db, asked)
    id = work.new_id()
    identity = {
        "id": id,
        "kind": kind,
        "number": following.reference.number,
        "reference_id": str(following.reference),
        "position": following.place,
        "creator_id": work.caller.user_id,
        "version": 1,
        "created_at": work.now,
        "updated_at": work.now,
    }
    row = work.known[id] = await items.insert(work.db, work.engine, identity | values)
    tell(work, None, row)
    return row


async def update(
    work: Work, kind: Kind | None, id: str, expected_version: int | None, **fields: Any
) -> ItemRow:
    """Update an item; fields that are UNSET stay.

    An update without any difference has no effect. Raises ServiceError, and StaleError if the item
    has another version than expected.
    """
    row = await items.find(work.db, id, kind)
    await check_version(work.db, row, expected_version)
    values = await _columns(work, row.kind, fields)
    if "type" in values:
        values["type"] = await find_type(work.db, values["type"])
    values = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not values:
        return row
    if "status" in values:
        try:
            check_transition(row.kind, row.status, values["status"])
        except RuleError as error:
            raise InvalidError("status", str(error)) from None
    if "parent_id" in values:
        values["position"] = 1 + await items.last_position(work.db, row.kind, values["parent_id"])
    if "parent_id" in values or "criteria_id" in values:
        await check_criteria_of(
            work.db,
            values.get("parent_id", row.parent_id),
            values.get("criteria_id", row.criteria_id),
        )
        await check_requirements_of(work.db, row, values)
    return await write(work, row, values)


async def write(work: Work, row: ItemRow, values: Mapping[str, Any]) -> ItemRow:
    """Set columns as a new version of an item, and record the effect.

    The caller has already checked the rules.
    """
    versioned = {**values, "version": row.version + 1, "updated_at": work.now}
    if says_something_else(values):
        versioned.setdefault("said_version", row.version + 1)
    await rows.update(work.db, "items", {"id": row.id}, versioned)
    changed = await items.find(work.db, row.id)
    tell(work, row, changed)
    return changed


async def set_aside(work: Work, row: ItemRow, values: Mapping[str, Any]) -> ItemRow:
    """Set columns that are no content, such as the position; the version stays."""
    await rows.update(work.db, "items", {"id": row.id}, {**values, "updated_at": work.now})
    changed = await items.find(work.db, row.id)
    tell(work, row, changed)
    return changed


def tell(work: Work, before: ItemRow | None, after: ItemRow | None) -> None:
    """Record the effect on an item."""
    row = after or before
    assert row is not None
    work.did(
        Effect(
            action="created" if before is None else "deleted" if after is None else "updated",
            kind=row.kind,
            id=row.id,
            reference_id=row.reference_id,
            version=row.version,
            before=before.stored() if before else None,
            after=after.stored() if after else None,
        )
    )


async def check_version(db: Database, row: ItemRow, expected: int | None) -> None:
    """Raise StaleError, with the differences since, if `row` has another version."""
    if expected is None or expected == row.version:
        return
    if expected > row.version:
        raise InvalidError(
            "expected_version", f"{row.reference_id} has only version {row.version} as yet"
        )
    raise StaleError(
        f"{row.reference_id} has version {row.version} now, not {expected}: "
        "look at the differences, then try again with that version",
        current_version=row.version,
        differences=await differences_since(db, row, expected),
    )


def check_line(field: str, text: str) -> None:
    """Raise InvalidError for text that is not valid in a single line."""
    fault = fault_of_line(text)
    if fault is not None:
        raise InvalidError(field, fault)


def check_text(field: str, text: str) -> None:
    """Raise InvalidError for characters that texts must not have."""
    fault = fault_of_text(text)
    if fault is not None:
        raise InvalidError(field, fault)


async def _columns(work: Work, kind: Kind, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns for the fields of a caller."""
    values = {name: value for name, value in fields.items() if value is not UNSET}
    for name in LINES:
        if name in values:
            check_line(name, values[name])
    for name in TEXTS:
        if name in values:
            check_text(name, values[name])
    if "assignee" in values:
        name = values.pop("assignee")
        values["assignee_id"] = (
            None if name is None else (await people.find_person(work.db, name, "assignee")).id
        )
    parent = PARENT_FIELD.get(kind)
    if parent is not None and parent in values:
        found = await items.find(work.db, values.pop(parent), KINDS[kind].parent)
        values["parent_id"] = found.id
    if "acceptance_criteria_id" in values:
        id = values.pop("acceptance_criteria_id")
        values["criteria_id"] = (
            None if id is None else (await items.find(work.db, id, "acceptance_criteria")).id
        )
    return values


async def find_type(db: Database, name: str) -> str:
    """Return the requirement type with this name, ignoring letter case.

    Raises InvalidError with the valid names.
    """
    known = await types.names(db)
    if fold(name) not in known:
        valid = list(known.values())
        raise InvalidError("type", no_such("requirement type", name, valid), valid=valid)
    return known[fold(name)]


async def check_criteria_of(db: Database, parent_id: str | None, criteria_id: str | None) -> None:
    """Raise InvalidError if a requirement and its criteria have different stories."""
    if parent_id is None or criteria_id is None:
        return
    criteria = await items.find(db, criteria_id)
    try:
        check_criteria(parent_id, criteria.parent_id or "")
    except RuleError as error:
        raise InvalidError(
            "acceptance_criteria_id",
            f"{criteria.reference_id}: {error} ({criteria.parent_reference_id})",
        ) from None


async def check_requirements_of(db: Database, row: ItemRow, values: Mapping[str, Any]) -> None:
    """Raise ConflictError if criteria would leave the story of their requirements."""
    if row.kind != "acceptance_criteria" or "parent_id" not in values:
        return
    of_it = await items.of_criteria(db, row.id, MAX_NAMED)
    if of_it:
        names = [each.reference_id for each in of_it]
        raise ConflictError(
            f"requirements of the same user story belong to {row.reference_id}: {', '.join(names)}",
            blocked_by=names,
        )
