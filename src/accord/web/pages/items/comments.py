"""Pages and forms to write, answer, edit, resolve and delete comments on an item."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.operations.errors import ServiceError
from accord.web.pages.items.detail import (
    MAX_COMMENTS,
    ItemView,
    find_item,
    rights,
    show,
    show_changed,
    threads,
)
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()


@pages.get("/items/{id}/comments")
async def more(request: PageRequest) -> PageResponse:
    """Show the comments on an item that come after a cursor."""
    item = await find_item(request, request.values["id"])
    comments = await request.run(
        "list_comments",
        target_id=item.reference_id,
        limit=MAX_COMMENTS,
        cursor=request.query["cursor"] or UNSET,
    )
    context: dict[str, Any] = {
        "item": item,
        "comments": comments,
        "threads": threads(comments.items),
        **rights(request, item),
    }
    if request.is_partial:
        return request.piece("items/_threads.html", **context)
    return await show(request, "_all_comments", **context)


@pages.post("/items/{id}/comments")
async def add(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    form = request.form
    try:
        await request.run(
            "add_comment",
            target_id=item.reference_id,
            text=form["text"].replace("\r\n", "\n"),
            reply_to=form["reply_to"] or UNSET,
            quote=form["quote"],
        )
    except ServiceError as error:
        if request.is_partial:
            raise
        return await _form(request, item, "comments", form["reply_to"], error=error)
    return await show_changed(request, item.reference_id, "Your comment was added.")


@pages.get("/items/{id}/comments/{comment}/reply")
async def reply(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    return await _form(request, item, "comments", request.values["comment"])


@pages.get("/items/{id}/comments/{comment}/edit")
async def edit(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    comment = await request.run("get_comment", id=request.values["comment"])
    return await _form(
        request,
        item,
        f"comments/{comment.id}/edit",
        text=comment.text,
        version=str(comment.version),
    )


@pages.post("/items/{id}/comments/{comment}/edit")
async def change(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    id, text = request.values["comment"], request.form["text"].replace("\r\n", "\n")
    try:
        await request.run(
            "update_comment", id=id, text=text, expected_version=request.form["version"] or UNSET
        )
    except ServiceError as error:
        if request.is_partial:
            raise
        return await _form(request, item, f"comments/{id}/edit", text=text, error=error)
    return await show_changed(request, item.reference_id, "Your comment was changed.")


@pages.post("/items/{id}/comments/{comment}/resolve")
async def resolve(request: PageRequest) -> PageResponse:
    resolved = request.form["resolved"] != "false"
    await request.run("resolve_comment", id=request.values["comment"], resolved=resolved)
    notice = "The comment is resolved." if resolved else "The comment is open again."
    return await show_changed(request, request.values["id"], notice)


@pages.post("/items/{id}/comments/{comment}/delete")
async def delete(request: PageRequest) -> PageResponse:
    await request.run("delete_comment", id=request.values["comment"])
    return await show_changed(request, request.values["id"], "The comment was deleted.")


async def _form(
    request: PageRequest,
    item: ItemView,
    place: str,
    reply_to: str = "",
    *,
    text: str = "",
    version: str = "",
    error: ServiceError | None = None,
) -> PageResponse:
    """Show the form for a comment: in place as a partial, or as a whole page."""
    context: dict[str, Any] = {
        "item": item,
        "action": f"{item.path}/{place}",
        "reply_to": reply_to,
        "text": text or request.form["text"],
        "version": version,
        "quote": request.form["quote"],
        "error": error,
    }
    if request.is_partial:
        return request.piece("items/_write_comment.html", **context)
    status = 200 if error is None else error.kind.status
    return await show(request, "_write_comment", status=status, **context)
