"""Comments on an item: written, answered, changed, resolved."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.pages.items.detail import MAX_COMMENTS, done, rights, threads
from accord.web.pages.items.item import Item, find_item
from accord.web.pages.items.showing import show
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.get("/items/{id}/comments")
async def more(turn: Turn) -> Answer:
    """Comments from a cursor on."""
    item = await find_item(turn, turn.values["id"])
    comments = await turn.do(
        "list_comments",
        target_id=item.reference_id,
        limit=MAX_COMMENTS,
        cursor=turn.query["cursor"] or UNSET,
    )
    context: dict[str, Any] = {
        "item": item,
        "comments": comments,
        "threads": threads(comments.items),
        **rights(turn, item),
    }
    if turn.is_partial:
        return turn.piece("items/_threads.html", **context)
    return await show(turn, "_all_comments", **context)


@pages.post("/items/{id}/comments")
async def add(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    form = turn.form
    try:
        await turn.do(
            "add_comment",
            target_id=item.reference_id,
            text=form["text"].replace("\r\n", "\n"),
            reply_to=form["reply_to"] or UNSET,
            quote=form["quote"],
        )
    except ServiceError as error:
        if turn.is_partial:
            raise
        return await _form(turn, item, "comments", form["reply_to"], error=error)
    return await done(turn, item.reference_id, "Your comment was added.")


@pages.get("/items/{id}/comments/{comment}/reply")
async def reply(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    return await _form(turn, item, "comments", turn.values["comment"])


@pages.get("/items/{id}/comments/{comment}/edit")
async def edit(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    comment = await turn.do("get_comment", id=turn.values["comment"])
    return await _form(
        turn, item, f"comments/{comment.id}/edit", text=comment.text, version=str(comment.version)
    )


@pages.post("/items/{id}/comments/{comment}/edit")
async def change(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    id, text = turn.values["comment"], turn.form["text"].replace("\r\n", "\n")
    try:
        await turn.do(
            "update_comment", id=id, text=text, expected_version=turn.form["version"] or UNSET
        )
    except ServiceError as error:
        if turn.is_partial:
            raise
        return await _form(turn, item, f"comments/{id}/edit", text=text, error=error)
    return await done(turn, item.reference_id, "Your comment was changed.")


@pages.post("/items/{id}/comments/{comment}/resolve")
async def resolve(turn: Turn) -> Answer:
    resolved = turn.form["resolved"] != "false"
    await turn.do("resolve_comment", id=turn.values["comment"], resolved=resolved)
    said = "The comment is resolved." if resolved else "The comment is open again."
    return await done(turn, turn.values["id"], said)


@pages.post("/items/{id}/comments/{comment}/delete")
async def delete(turn: Turn) -> Answer:
    await turn.do("delete_comment", id=turn.values["comment"])
    return await done(turn, turn.values["id"], "The comment was deleted.")


async def _form(
    turn: Turn,
    item: Item,
    place: str,
    reply_to: str = "",
    *,
    text: str = "",
    version: str = "",
    error: ServiceError | None = None,
) -> Answer:
    """Where a comment is written: in its thread, or on a page of its own."""
    context: dict[str, Any] = {
        "item": item,
        "action": f"{item.path}/{place}",
        "reply_to": reply_to,
        "text": text or turn.form["text"],
        "version": version,
        "quote": turn.form["quote"],
        "error": error,
    }
    if turn.is_partial:
        return turn.piece("items/_write_comment.html", **context)
    status = 200 if error is None else error.kind.status
    return await show(turn, "_write_comment", status=status, **context)
