"""Write items and relationships: check rules, store rows, record effects.

Moving an item among its siblings does not change its version, because the position among siblings
does not count as content.
Children and links prevent a deletion unless an administrator forces it; comments, labels and
suppressed lint rules are deleted with their item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from accord.hub.domain.rules import (
    KINDS,
    CycleError,
    Kind,
    RuleError,
    changes_content,
    check_acyclic,
    check_criteria,
    check_linkable,
    check_transition,
)
from accord.hub.domain.text import fold, problem_of_line, problem_of_text
from accord.hub.entities import Deletion
from accord.hub.storage import items, reference_data, relationships, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.reference_data import find_requirement_type
from accord.hub.storage.relationships import LinkRow, TypeRow
from accord.hub.storage.revisions import differences_since
from accord.hub.storage.rows import PARENT_FIELD
from accord.operations.context import Database, OperationContext
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, StaleError

LINES: Final = ("title",)
TEXTS: Final = ("description", "content")
MAX_NAMED: Final = 20
"""The maximum number of items and links that an error names."""


async def create(work: OperationContext, kind: Kind, **fields: Any) -> ItemRow:
    """Create an item with the caller as its creator.

    `fields` have the names that callers use. Raises ServiceError if a field is invalid, or names a
    parent, person or type that does not exist.
    """
    # Taken out before `_columns`: `next_item` looks the parent up in the same statement.
    parent = fields.pop(PARENT_FIELD.get(kind, ""), None)
    values = await _columns(work, kind, fields)
    if fields.get("assignee") is UNSET:
        values["assignee_id"] = work.caller.user_id
    type_name = values.get("type", "")
    following = await items.next_item(work.db, kind, parent, fold(type_name))
    if parent is not None:
        known = following.parent_id
        values["parent_id"] = known or (await items.find(work.db, parent, KINDS[kind].parent)).id
    await check_criteria_of(work.db, values.get("parent_id"), values.get("criteria_id"))
    if type_name:
        values["type"] = following.type or await find_requirement_type(work.db, type_name)
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
    record_item(work, None, row)
    return row


async def update(
    work: OperationContext, kind: Kind | None, id: str, expected_version: int | None, **fields: Any
) -> ItemRow:
    """Update an item; fields that are UNSET stay unchanged.

    An update without any difference has no effect. Raises StaleError if the item has another
    version than expected, and other kinds of ServiceError if there is no such item, a field is
    invalid, or a rule is violated.
    """
    row = await items.find(work.db, id, kind)
    await check_version(work.db, row, expected_version)
    values = await _columns(work, row.kind, fields)
    if "type" in values:
        values["type"] = await find_requirement_type(work.db, values["type"])
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


async def write(work: OperationContext, row: ItemRow, values: Mapping[str, Any]) -> ItemRow:
    """Set columns as a new version of an item, and record the effect.

    The caller has already checked the rules.
    """
    versioned = {**values, "version": row.version + 1, "updated_at": work.now}
    # Links remember versions: those that remember one before `said_version` are suspect.
    if changes_content(values):
        versioned.setdefault("said_version", row.version + 1)
    await rows.update(work.db, "items", {"id": row.id}, versioned)
    changed = await items.find(work.db, row.id)
    record_item(work, row, changed)
    return changed


async def write_unversioned(
    work: OperationContext, row: ItemRow, values: Mapping[str, Any]
) -> ItemRow:
    """Set columns of an item without a new version, and return the item.

    Only for columns that do not count as content, such as the position among siblings.
    """
    await rows.update(work.db, "items", {"id": row.id}, {**values, "updated_at": work.now})
    changed = await items.find(work.db, row.id)
    record_item(work, row, changed)
    return changed


def record_item(work: OperationContext, before: ItemRow | None, after: ItemRow | None) -> None:
    """Record the effect of creating, updating or deleting an item."""
    row = after or before
    assert row is not None
    old = before.stored() if before else None
    new = after.stored() if after else None
    work.record(rows.effect(row.kind, old, new, row.reference_id))


async def check_version(db: Database, row: ItemRow, expected: int | None) -> None:
    """Raise StaleError, with the differences, if an item is newer than expected.

    Raises InvalidError if the expected version does not exist yet. None skips the check.
    """
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
    """Raise InvalidError for a text that is blank or no valid line."""
    fault = problem_of_line(text)
    if fault is not None:
        raise InvalidError(field, fault)


def check_text(field: str, text: str) -> None:
    """Raise InvalidError for characters that texts must not have."""
    fault = problem_of_text(text)
    if fault is not None:
        raise InvalidError(field, fault)


async def _columns(work: OperationContext, kind: Kind, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Check fields as callers give them, and return the columns to write.

    Raises ServiceError if a field is invalid, or names something that does not exist.
    """
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
            None
            if name is None
            else (await reference_data.find_person(work.db, name, "assignee")).id
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


async def check_criteria_of(db: Database, parent_id: str | None, criteria_id: str | None) -> None:
    """Raise InvalidError if acceptance criteria belong to another user story.

    `parent_id` is the user story of the requirement that has these criteria.
    """
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
    """Raise ConflictError if criteria that have requirements would move elsewhere.

    Acceptance criteria with requirements must stay in the user story of these requirements.
    """
    if row.kind != "acceptance_criteria" or "parent_id" not in values:
        return
    of_it = await items.of_criteria(db, row.id, MAX_NAMED)
    if of_it:
        names = [each.reference_id for each in of_it]
        raise ConflictError(
            f"requirements of the same user story belong to {row.reference_id}: {', '.join(names)}",
            blocked_by=names,
        )


async def move(
    work: OperationContext,
    row: ItemRow,
    *,
    before: str | None,
    after: str | None,
    parent_id: str | None,
) -> ItemRow:
    """Move an item before or after a sibling, or to the end of a parent's children.

    Raises ServiceError if the destination is missing, ambiguous or not allowed.
    """
    if before is not None and after is not None:
        raise InvalidError("after", "give before or after, not both")
    name = before if before is not None else after
    sibling = None if name is None else await items.find(work.db, name, row.kind)
    row = await _move_to_parent(work, row, sibling, parent_id)
    if sibling is None or sibling.id == row.id:
        return row
    others = [
        each
        for each in await items.positions(work.db, row.kind, row.parent_id)
        if each[0] != row.id
    ]
    at = [id for id, _ in others].index(sibling.id) + (0 if before is not None else 1)
    return await _rank(work, row, others, at)


async def rank_of(db: Database, row: ItemRow) -> tuple[int, int]:
    """Return the rank of an item among its siblings, from 1, and their number."""
    ids = [id for id, _ in await items.positions(db, row.kind, row.parent_id)]
    return ids.index(row.id) + 1, len(ids)


async def _move_to_parent(
    work: OperationContext, row: ItemRow, sibling: ItemRow | None, parent_id: str | None
) -> ItemRow:
    """Move an item under another parent, and return the item.

    The new parent is `parent_id`, or else the parent of `sibling`. Another parent makes a new
    version of the item, because the parent counts as content. Raises the errors of `move`.
    """
    field = PARENT_FIELD.get(row.kind)
    if field is None:
        if parent_id is not None:
            raise InvalidError("parent_id", f"{row.reference_id} stands under nothing")
        return row
    target_id = sibling.parent_id if sibling is not None else None
    if parent_id is not None:
        parent = await items.find(work.db, parent_id, KINDS[row.kind].parent)
        if sibling is not None and parent.id != sibling.parent_id:
            raise InvalidError("parent_id", f"{sibling.reference_id} is under another")
        target_id = parent.id
    if target_id is None:
        raise InvalidError("before", "say where to: before, after or parent_id")
    return await update(work, row.kind, row.id, None, **{field: target_id})


async def _rank(
    work: OperationContext, row: ItemRow, others: list[tuple[str, float]], at: int
) -> ItemRow:
    """Give an item a position between its new neighbours.

    `others` are the ids and positions of its siblings, in order; `at` is its new index among them.
    """
    low = others[at - 1][1] if at > 0 else others[0][1] - 2
    high = others[at][1] if at < len(others) else others[-1][1] + 2
    if low < row.position < high:
        return row
    between = (low + high) / 2
    if low < between < high:
        return await write_unversioned(work, row, {"position": between})
    # No float is left between the two positions: renumber all siblings.
    ids = [id for id, _ in others]
    ids.insert(at, row.id)
    for place, id in enumerate(ids, 1):
        each = await items.find(work.db, id)
        if each.position != place:
            await write_unversioned(work, each, {"position": float(place)})
    return await items.find(work.db, row.id)


_ATTACHED: Final = (
    ("relationship", "source_id"),
    ("relationship", "target_id"),
    ("steering_link", "steering_id"),
    ("steering_link", "epic_id"),
    ("item_label", "item_id"),
    ("lint_suppression", "item_id"),
    ("item_source", "item_id"),
)
"""Kinds of rows that are deleted with an item, each with the column that refers to the item.

Comments are handled separately, since replies must be deleted first."""


async def delete(work: OperationContext, kind: Kind, id: str, *, force: bool) -> Deletion:
    """Delete an item with the rows that belong to it.

    Raises ForbiddenError if the caller may not delete the item, or may not force it, NotFoundError
    if there is none, and ConflictError that names the children and links in the way.
    """
    row = await items.find(work.db, id, kind)
    work.caller.require_own(row.creator_id, row.reference_id)
    if force and not work.caller.is_administrator:
        raise ForbiddenError(
            "only administrators may delete with force", required_roles=["Administrator"]
        )
    if not force:
        await check_deletable(work.db, row)
    first = len(work.effects)
    await _remove(work, row)
    also = [
        effect.reference_id
        for effect in work.effects[first:]
        if effect.action == "deleted" and effect.reference_id not in ("", row.reference_id)
    ]
    return Deletion(deleted=row.reference_id, also_deleted=also)


async def check_deletable(db: Database, row: ItemRow) -> None:
    """Raise ConflictError if children or links block the deletion of an item."""
    children = [each.reference_id for each in await items.children(db, row.id)]
    children += [each.reference_id for each in await _requirements_of(db, row)]
    links = await relationships.named_links(db, row.id)
    if not children and not links:
        return
    named = (children + links)[:MAX_NAMED]
    more = len(children) + len(links) - len(named)
    raise ConflictError(
        f"{row.reference_id} has children or links: {', '.join(named)}"
        + (f" and {more:,} more" if more else ""),
        children=children[:MAX_NAMED],
        links=links[:MAX_NAMED],
        total=len(children) + len(links),
    )


async def _requirements_of(db: Database, row: ItemRow) -> list[ItemRow]:
    if row.kind != "acceptance_criteria":
        return []
    return await items.of_criteria(db, row.id)


async def _remove(work: OperationContext, row: ItemRow) -> None:
    """Delete an item and everything below it, leaves first."""
    for requirement in await _requirements_of(work.db, row):
        await write(work, requirement, {"criteria_id": None})
    # In reverse, requirements before criteria: requirements refer to criteria of the story.
    for child in reversed(await items.children(work.db, row.id)):
        await _remove(work, await items.find(work.db, child.id))
    await _remove_comments(work, row)
    for kind, column in _ATTACHED:
        for attached in await rows.where(work.db, rows.TABLES[kind].name, column, row.id):
            await _delete_row(work, kind, attached)
    await rows.delete(work.db, "items", {"id": row.id})
    record_item(work, row, None)


async def _remove_comments(work: OperationContext, row: ItemRow) -> None:
    """Delete the comments of an item, replies before the comments they answer."""
    left = {each["id"]: each for each in await rows.where(work.db, "comments", "target_id", row.id)}
    while left:
        answered = {each["reply_to"] for each in left.values()}
        for id in [id for id in left if id not in answered]:
            await _delete_row(work, "comment", left.pop(id))


async def _delete_row(work: OperationContext, kind: str, row: dict[str, object]) -> None:
    table = rows.TABLES[kind]
    await rows.delete(work.db, table.name, {column: row[column] for column in table.key})
    work.record(rows.effect(kind, row, None))


async def create_link(work: OperationContext, source_id: str, target_id: str, type: str) -> LinkRow:
    """Create a relationship with the caller as its creator.

    Raises ServiceError if an end or the type does not exist, or if the link is not allowed.
    """
    of_type = await relationships.find_type(work.db, type)
    source = await _linkable_item(work.db, source_id, "source_id")
    target = await _linkable_item(work.db, target_id, "target_id")
    if source.id == target.id:
        raise InvalidError("target_id", f"{source.reference_id} cannot be linked to itself")
    await check_link(work.db, source, target, of_type)
    values: dict[str, Any] = {
        "id": work.new_id(),
        "source_id": source.id,
        "target_id": target.id,
        "type": of_type.name,
        "creator_id": work.caller.user_id,
        "created_at": work.now,
        "source_version": source.version,
        "target_version": target.version,
        "confirmed_by": None,
        "confirmed_at": None,
        "confirmed_reason": "",
    }
    await rows.insert(work.db, "relationships", values)
    row = await relationships.find(work.db, values["id"])
    work.record(rows.effect("relationship", None, row.stored(), row.reference))
    return row


async def retype_link(work: OperationContext, row: LinkRow, type: str) -> LinkRow:
    """Change the type of a relationship.

    Raises ServiceError if there is no such type, if such a link already exists, or if it would
    close a cycle.
    """
    of_type = await relationships.find_type(work.db, type)
    if of_type.name == row.type:
        return row
    source = await items.find(work.db, row.source_id)
    target = await items.find(work.db, row.target_id)
    await check_link(work.db, source, target, of_type)
    return await _write_link(work, row, {"type": of_type.name})


async def confirm_link(work: OperationContext, row: LinkRow, reason: str) -> LinkRow:
    """Confirm that a relationship holds for the current content of both ends."""
    return await _write_link(
        work,
        row,
        {
            "source_version": row.source_now,
            "target_version": row.target_now,
            "confirmed_by": work.caller.user_id,
            "confirmed_at": work.now,
            "confirmed_reason": reason,
        },
    )


async def delete_link(work: OperationContext, row: LinkRow) -> None:
    """Delete a relationship."""
    await rows.delete(work.db, "relationships", {"id": row.id})
    work.record(rows.effect("relationship", row.stored(), None, row.reference))


async def _linkable_item(db: Database, id: str, field: str) -> ItemRow:
    row = await items.find(db, id)
    try:
        check_linkable(row.kind)
    except RuleError as error:
        raise InvalidError(field, str(error)) from None
    return row


async def check_link(db: Database, source: ItemRow, target: ItemRow, type: TypeRow) -> None:
    """Raise ConflictError if the link already exists or would close a cycle."""
    found = await relationships.between(db, source.id, target.id, type)
    if found is not None:
        raise ConflictError(
            f"there is such a relationship already: {found.reference}", relationship_id=found.id
        )
    if not type.is_acyclic:
        return
    edges = await relationships.reached_edges(db, target.id, type.name)
    try:
        check_acyclic(type.name, edges, source.reference_id, target.reference_id)
    except CycleError as error:
        raise ConflictError(str(error), path=list(error.path)) from None


async def _write_link(work: OperationContext, row: LinkRow, values: dict[str, Any]) -> LinkRow:
    await rows.update(work.db, "relationships", {"id": row.id}, values)
    changed = await relationships.find(work.db, row.id)
    work.record(rows.effect("relationship", row.stored(), changed.stored(), changed.reference))
    return changed
