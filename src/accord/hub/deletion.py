"""Items go: what stands in the way, and what goes with them.

Children and links stand in the way, unless an administrator forces it; comments, labels and
suppressions of the linter go without asking. Requirements that belong to acceptance criteria stay
under their story and lose the criteria.
"""

from __future__ import annotations

from typing import Final

from accord.hub.domain.kinds import Kind
from accord.hub.entities import Deleted
from accord.hub.lifecycle import tell, write
from accord.hub.storage import items, relationships, rows
from accord.hub.storage.items import ItemRow
from accord.operations.errors import ConflictError, ForbiddenError
from accord.operations.work import Database, Work

MAX_NAMED: Final = 20
"""The maximum number of blocking children and links named in the error."""

_ATTACHED: Final = (
    ("relationship", "source_id"),
    ("relationship", "target_id"),
    ("steering_link", "steering_id"),
    ("steering_link", "epic_id"),
    ("item_label", "item_id"),
    ("lint_suppression", "item_id"),
    ("item_source", "item_id"),
)
"""Kinds of rows that belong to an item, with the column that refers to it. Comments are handled
separately, since replies must be deleted first."""


async def delete(work: Work, kind: Kind, id: str, *, force: bool) -> Deleted:
    """Delete an item with the rows that belong to it.

    Raises ForbiddenError, and ConflictError that names the children and links in the way.
    """
    row = await items.find(work.db, id, kind)
    work.caller.require_own(row.creator_id, row.reference_id)
    if force and not work.caller.is_administrator:
        raise ForbiddenError(
            "only administrators may delete with force", required_roles=["Administrator"]
        )
    if not force:
        await check_free(work.db, row)
    first = len(work.effects)
    await _remove(work, row)
    also = [
        effect.reference_id
        for effect in work.effects[first:]
        if effect.action == "deleted" and effect.reference_id not in ("", row.reference_id)
    ]
    return Deleted(deleted=row.reference_id, also_deleted=also)


async def check_free(db: Database, row: ItemRow) -> None:
    """Raise ConflictError if children or links block the deletion of an item."""
    children = [each.reference_id for each in await items.children(db, row.id)]
    children += [each.reference_id for each in await _of_criteria(db, row)]
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


async def _of_criteria(db: Database, row: ItemRow) -> list[ItemRow]:
    if row.kind != "acceptance_criteria":
        return []
    return await items.of_criteria(db, row.id)


async def _remove(work: Work, row: ItemRow) -> None:
    for requirement in await _of_criteria(work.db, row):
        await write(work, requirement, {"criteria_id": None})
    # In reverse, requirements before criteria: requirements refer to criteria of the story.
    for child in reversed(await items.children(work.db, row.id)):
        await _remove(work, await items.find(work.db, child.id))
    await _remove_comments(work, row)
    for kind, column in _ATTACHED:
        for attached in await rows.where(work.db, rows.TABLES[kind].name, column, row.id):
            await _take(work, kind, attached)
    await rows.delete(work.db, "items", {"id": row.id})
    tell(work, row, None)


async def _remove_comments(work: Work, row: ItemRow) -> None:
    """Delete the comments of an item, replies before the comments they answer."""
    left = {each["id"]: each for each in await rows.where(work.db, "comments", "target_id", row.id)}
    while left:
        answered = {each["reply_to"] for each in left.values()}
        for id in [id for id in left if id not in answered]:
            await _take(work, "comment", left.pop(id))


async def _take(work: Work, kind: str, row: dict[str, object]) -> None:
    table = rows.TABLES[kind]
    await rows.delete(work.db, table.name, {column: row[column] for column in table.key})
    work.did(rows.effect("deleted", kind, row))
