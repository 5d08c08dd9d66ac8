"""Changes: who did what, through which program, and taking it back."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.hub.operations.changes import ChangeDetail, ChangeListed
from accord.operations.errors import ServiceError
from accord.web.activity import LASTING_OPERATIONS
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

PER_PAGE: Final = 50
LASTING: Final = frozenset({"proposal", "baseline"})
"""Kinds of things that nobody takes back: a proposal is decided on, a baseline stays."""


@pages.get("/changes")
async def changes(request: PageRequest) -> PageResponse:
    actor = request.query["actor"].strip()
    error: ServiceError | None = None
    try:
        found = await request.run(
            "list_changes",
            actor=actor or UNSET,
            limit=PER_PAGE,
            cursor=request.query["cursor"] or UNSET,
        )
    except ServiceError as wrong:
        error, found = wrong, None
    return await _page(
        request,
        "changes/list.html",
        status=200 if error is None else error.kind.status,
        found=found,
        undoable={each.id for each in found.items if _may_undo(request, each)} if found else set(),
        actor=actor,
        error=error,
    )


@pages.get("/changes/{id}")
async def change(request: PageRequest) -> PageResponse:
    return await _one(request)


@pages.post("/changes/{id}/undo")
async def undo(request: PageRequest) -> PageResponse:
    try:
        outcome = await request.outcome("undo", change_id=request.values["id"])
    except ServiceError as error:
        return await _one(request, error)
    back = request.form["back"]
    gone = {each.reference_id for each in outcome.effects if each.action == "deleted"}
    if not back or gone.intersection(back.split("/")):  # such as the page of what was created
        back = f"/changes/{outcome.change_id}"
    return request.go(back, "Change reverted.")


def _may_undo(request: PageRequest, change: ChangeListed) -> bool:
    """Return whether a list offers to undo a change; whether it still can be is found out then."""
    who = request.user
    is_own = who.is_administrator or change.actor == who.username
    is_left = not change.undone_by and change.operation not in LASTING_OPERATIONS
    return who.may("write") and is_own and is_left


async def _one(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found: ChangeDetail = await request.run("get_change", change_id=request.values["id"])
    who = request.user
    is_own = who.is_administrator or found.actor == who.username
    is_lasting = all(each.kind in LASTING for each in found.touched)
    may_undo = who.may("write") and is_own and not is_lasting
    return await _page(
        request,
        "changes/one.html",
        status=200 if error is None else error.kind.status,
        change=found,
        may_undo=may_undo and not found.undone_by,
        error=error,
    )


async def _page(request: PageRequest, template: str, **context: Any) -> PageResponse:
    return await request.page(template, section="/changes", **context)
