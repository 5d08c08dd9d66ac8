"""Suspect links: what changed at their ends, and confirming that they still hold."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from accord.operations.errors import InvalidError, ServiceError
from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

AT_ONCE: Final = 20


@pages.get("/traceability/suspects")
async def suspects(turn: Turn) -> Answer:
    return await _page(turn)


@pages.post("/traceability/suspects")
async def confirm(turn: Turn) -> Answer:
    """Confirm those that are ticked, or the one whose button was pressed."""
    form = turn.form
    ids = [form["one"]] if form["one"] else form.every("id")
    try:
        if not ids:
            raise InvalidError("id", "choose the links that still hold")
        steps = [
            {"operation": "confirm_relationship", "arguments": {"id": id, "reason": form["reason"]}}
            for id in ids
        ]
        await turn.do("apply_changes", steps=steps)
    except ServiceError as error:
        return await _page(turn, error)
    said = "Confirmed that the link holds" if len(ids) == 1 else f"Confirmed {len(ids)} links"
    return turn.go("/traceability/suspects", said)


@pages.post("/traceability/suspects/{id}/remove")
async def remove(turn: Turn) -> Answer:
    outcome = await turn.outcome("delete_relationship", id=turn.values["id"])
    return turn.go(
        "/traceability/suspects",
        f"Removed {outcome.result.deleted.replace('_', ' ')}; undo it under Changes",
    )


async def _page(turn: Turn, error: ServiceError | None = None) -> Answer:
    found = await turn.do(
        "list_suspect_relationships", limit=AT_ONCE, cursor=turn.query["cursor"] or UNSET
    )
    return await turn.page(
        "traceability/suspects.html",
        status=200 if error is None else error.kind.status,
        tab="suspects",
        section="/traceability",
        found=found,
        error=error,
    )
