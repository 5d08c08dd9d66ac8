"""Changes: who did what, through which program, and taking it back."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.hub.operations.changes import ChangeDetail, ChangeListed
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.news import LASTING_OPERATIONS
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

PER_PAGE: Final = 50
LASTING: Final = frozenset({"proposal", "baseline"})
"""Kinds of things that nobody takes back: a proposal is decided on, a baseline stays."""


@pages.get("/changes")
async def changes(turn: Turn) -> Answer:
    actor = turn.query["actor"].strip()
    error: ServiceError | None = None
    try:
        found = await turn.do(
            "list_changes",
            actor=actor or UNSET,
            limit=PER_PAGE,
            cursor=turn.query["cursor"] or UNSET,
        )
    except ServiceError as wrong:
        error, found = wrong, None
    return await _page(
        turn,
        "changes/list.html",
        status=200 if error is None else error.kind.status,
        found=found,
        undoable={each.id for each in found.items if _may_undo(turn, each)} if found else set(),
        actor=actor,
        error=error,
    )


@pages.get("/changes/{id}")
async def change(turn: Turn) -> Answer:
    return await _one(turn)


@pages.post("/changes/{id}/undo")
async def undo(turn: Turn) -> Answer:
    try:
        outcome = await turn.outcome("undo", change_id=turn.values["id"])
    except ServiceError as error:
        return await _one(turn, error)
    back = turn.form["back"]
    gone = {each.reference_id for each in outcome.effects if each.action == "deleted"}
    if not back or gone.intersection(back.split("/")):  # such as the page of what was created
        back = f"/changes/{outcome.change_id}"
    return turn.go(back, "Change reverted.")


def _may_undo(turn: Turn, change: ChangeListed) -> bool:
    """Return whether a list offers to undo a change; whether it still can be is found out then."""
    who = turn.who
    is_own = who.is_administrator or change.actor == who.username
    is_left = not change.undone_by and change.operation not in LASTING_OPERATIONS
    return who.may("write") and is_own and is_left


async def _one(turn: Turn, error: ServiceError | None = None) -> Answer:
    found: ChangeDetail = await turn.do("get_change", change_id=turn.values["id"])
    who = turn.who
    is_own = who.is_administrator or found.actor == who.username
    is_lasting = all(each.kind in LASTING for each in found.touched)
    may_undo = who.may("write") and is_own and not is_lasting
    return await _page(
        turn,
        "changes/one.html",
        status=200 if error is None else error.kind.status,
        change=found,
        may_undo=may_undo and not found.undone_by,
        error=error,
    )


async def _page(turn: Turn, template: str, **context: Any) -> Answer:
    return await turn.page(template, section="/changes", **context)
