"""Operations on comments: replies, quotes and resolution."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from accord.hub.domain.rules import KINDS
from accord.hub.entities import Cursor, Deletion, Id, ItemComment, Limit, Page, Version
from accord.hub.lifecycle import check_text
from accord.hub.storage import comments, items, rows
from accord.hub.storage.comments import CommentRow
from accord.hub.storage.items import ItemRow
from accord.hub.storage.rows import DEFAULT_LIMIT
from accord.operations.context import OperationContext
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, StaleError
from accord.operations.operation import Rest
from accord.operations.registry import Registry

CommentText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=10_000)]
Quote: TypeAlias = Annotated[str, Meta(max_length=2_000)]
Position: TypeAlias = Annotated[
    int, Meta(ge=0, description="Characters before the quote in the text.")
]

operations: Final = Registry()


@operations.write(
    right="comment", rest=Rest("POST", "/comments", 201, "/comments/{id}"), tag="comments"
)
async def add_comment(
    work: OperationContext,
    *,
    target_id: Id,
    text: CommentText,
    reply_to: Id | None = None,
    quote: Quote = "",
    quote_position: Position | None = None,
) -> ItemComment:
    """Comment on an item, in answer to another comment or on a quote from its text."""
    target = await items.find(work.db, target_id)
    check_text("text", text)
    answered = None if reply_to is None else await comments.find(work.db, reply_to)
    if answered is not None and answered.target_id != target.id:
        raise InvalidError("reply_to", f"is a comment on {answered.target_reference_id}")
    id = work.new_id()
    values = {
        "id": id,
        "target_id": target.id,
        "reply_to": answered.id if answered else None,
        "author_id": work.caller.user_id,
        "text": text,
        "quote": quote,
        "quote_position": _position(target, quote, quote_position),
        "created_at": work.now,
        "updated_at": work.now,
    }
    await rows.insert(work.db, "comments", values)
    made = await comments.find(work.db, id)
    _record_comment(work, None, made)
    return made.shown()


@operations.read(rest=Rest("GET", "/comments/{id}"), tag="comments")
async def get_comment(work: OperationContext, *, id: Id) -> ItemComment:
    """Get a comment."""
    return await _with_provenance(work, await comments.find(work.db, id))


@operations.write(
    right="comment",
    rest=(Rest("PUT", "/comments/{id}"), Rest("PATCH", "/comments/{id}")),
    tag="comments",
)
async def update_comment(
    work: OperationContext, *, id: Id, text: CommentText, expected_version: Version | None = None
) -> ItemComment:
    """Change the text of a comment of yours."""
    row = await comments.find(work.db, id)
    if row.author_id != work.caller.user_id:
        raise ForbiddenError(f"the comment was written by {row.author}")
    if expected_version not in (None, row.version):
        raise StaleError(
            f"the comment has version {row.version} now",
            current_version=row.version,
            current=await _with_provenance(work, row),
        )
    check_text("text", text)
    if text == row.text:
        return await _with_provenance(work, row)
    return await _write(work, row, {"text": text, "version": row.version + 1})


@operations.write(
    right="comment",
    rest=Rest("DELETE", "/comments/{id}", 204),
    tag="comments",
    destructive=True,
)
async def delete_comment(work: OperationContext, *, id: Id, force: bool = False) -> Deletion:
    """Delete a comment of yours. With answers only by `force` (administrators)."""
    row = await comments.find(work.db, id)
    work.caller.require_own(row.author_id, "the comment")
    if force and not work.caller.is_administrator:
        raise ForbiddenError("only administrators may delete with force")
    thread = await comments.thread(work.db, row)
    if len(thread) > 1 and not force:
        raise ConflictError(f"the comment has {len(thread) - 1:,} answers")
    for each in reversed(thread):
        await rows.delete(work.db, "comments", {"id": each.id})
        _record_comment(work, each, None)
    return Deletion(deleted=row.id, also_deleted=[each.id for each in thread[1:]])


@operations.write(
    right="comment", rest=Rest("POST", "/comments/{id}/resolve"), tag="comments", idempotent=True
)
async def resolve_comment(work: OperationContext, *, id: Id, resolved: bool = True) -> ItemComment:
    """Mark a comment as resolved, or with `resolved` false as open again."""
    row = await comments.find(work.db, id)
    if bool(row.resolved) == resolved:
        return await _with_provenance(work, row)
    by = work.caller.user_id if resolved else None
    return await _write(work, row, {"resolved": int(resolved), "resolved_by": by})


@operations.read(
    rest=(
        Rest("GET", "/comments"),
        *(Rest("GET", f"/{kind.plural}/{{target_id}}/comments") for kind in KINDS.values()),
    ),
    tag="comments",
    snapshot=True,
)
async def list_comments(
    work: OperationContext,
    *,
    target_id: Id | None = None,
    resolved: bool | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> Page[ItemComment]:
    """List comments, oldest first: all, or those on an item."""
    target = None if target_id is None else (await items.find(work.db, target_id)).id
    return await comments.page(work.db, target, resolved, limit, cursor)


async def _write(work: OperationContext, row: CommentRow, values: dict[str, Any]) -> ItemComment:
    await rows.update(work.db, "comments", {"id": row.id}, {**values, "updated_at": work.now})
    changed = await comments.find(work.db, row.id)
    _record_comment(work, row, changed)
    return await _with_provenance(work, changed)


async def _with_provenance(work: OperationContext, row: CommentRow) -> ItemComment:
    [comment] = await comments.with_provenance(work.db, [row])
    return comment


def _record_comment(
    work: OperationContext, before: CommentRow | None, after: CommentRow | None
) -> None:
    row = after or before
    assert row is not None
    old = before.stored() if before else None
    new = after.stored() if after else None
    work.record(rows.effect("comment", old, new, row.target_reference_id))


def _position(target: ItemRow, quote: str, position: int | None) -> int | None:
    """Return the position of a quote in the text of an item.

    Raises InvalidError if the text does not contain the quote, or not at the given position.
    """
    if not quote:
        if position is not None:
            raise InvalidError("quote_position", "is the place of a quote: give that too")
        return None
    check_text("quote", quote)
    text = target.content if target.kind == "prompt" else target.description
    found = text.find(quote) if position is None else position
    if found < 0 or not text.startswith(quote, found):
        where = "" if position is None else f" at {position:,}"
        raise InvalidError("quote", f"does not stand in the text of {target.reference_id}{where}")
    return found
