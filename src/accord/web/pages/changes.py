"""Changes and their undo, and proposed changes, which are accepted or rejected."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from msgspec import UNSET

from accord.hub.operations.changes import ChangeDetail, ChangeListed
from accord.hub.operations.proposals import Proposal, ProposalCheck
from accord.operations.errors import ServiceError
from accord.web.activity import LASTING_OPERATIONS
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

PER_PAGE: Final = 50
LASTING: Final = frozenset({"proposal", "baseline"})
"""Kinds of objects without undo: decisions on proposals, and baselines, are final."""


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
    return await _changes_page(
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
    return await _change_page(request)


@pages.post("/changes/{id}/undo")
async def undo(request: PageRequest) -> PageResponse:
    try:
        outcome = await request.outcome("undo", change_id=request.values["id"])
    except ServiceError as error:
        return await _change_page(request, error)
    back = request.form["back"]
    deleted = {each.reference_id for each in outcome.effects if each.action == "deleted"}
    if not back or deleted.intersection(back.split("/")):  # the page of a created item is gone
        back = f"/changes/{outcome.change_id}"
    return request.go(back, "Change reverted.")


def _may_undo(request: PageRequest, change: ChangeListed) -> bool:
    """Return true if a list offers to undo a change; the undo can still be refused."""
    caller = request.user
    is_own = caller.is_administrator or change.actor == caller.username
    is_left = not change.undone_by and change.operation not in LASTING_OPERATIONS
    return caller.may("write") and is_own and is_left


async def _change_page(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found: ChangeDetail = await request.run("get_change", change_id=request.values["id"])
    caller = request.user
    is_own = caller.is_administrator or found.actor == caller.username
    is_lasting = all(each.kind in LASTING for each in found.touched)
    may_undo = caller.may("write") and is_own and not is_lasting
    return await _changes_page(
        request,
        "changes/one.html",
        status=200 if error is None else error.kind.status,
        change=found,
        may_undo=may_undo and not found.undone_by,
        error=error,
    )


async def _changes_page(request: PageRequest, template: str, **context: Any) -> PageResponse:
    return await request.page(template, section="/changes", **context)


@pages.get("/proposals")
async def proposals(request: PageRequest) -> PageResponse:
    return await _proposals_page(
        request, tab="decided" if request.query["state"] == "decided" else "open"
    )


@pages.get("/proposals/{id}")
async def proposal(request: PageRequest) -> PageResponse:
    return await _proposal_page(request)


@pages.post("/proposals/{id}/accept")
async def accept(request: PageRequest) -> PageResponse:
    return await _decide(request, "accept_proposal", "Accepted")


@pages.post("/proposals/{id}/reject")
async def reject(request: PageRequest) -> PageResponse:
    return await _decide(request, "reject_proposal", "Rejected")


async def _decide(request: PageRequest, operation: str, verb: str) -> PageResponse:
    try:
        made = await request.run(
            operation, id=request.values["id"], reason=request.form["reason"].strip()
        )
    except ServiceError as error:
        return await _proposal_page(request, error)
    return request.go(f"/proposals/{made.id}", f"{verb} what {made.author} proposed")


async def _proposal_page(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found: Proposal = await request.run("get_proposal", id=request.values["id"])
    check = await _check_proposal(request, found)
    return await _proposals_page(
        request,
        status=200 if error is None else error.kind.status,
        tab="open" if found.state == "open" else "decided",
        proposal=found,
        error=error,
        hints=check.follows if isinstance(check, ProposalCheck) else (),
        refusal=check if isinstance(check, ServiceError) else None,
    )


async def _check_proposal(
    request: PageRequest, found: Proposal
) -> ProposalCheck | ServiceError | None:
    """Return the effects of accepting a proposal, or the error that accepting it would raise.

    Return None if the proposal is decided, if it is stale (the page shows what changed since), or
    if the caller may not write.
    """
    if found.state != "open" or found.stale or not request.user.may("write"):
        return None
    try:
        check: ProposalCheck = await request.run("check_proposal", id=found.id)
    except ServiceError as error:
        return error
    return check


async def _proposals_page(
    request: PageRequest, *, status: int = 200, tab: str, **context: Any
) -> PageResponse:
    cursor = request.query["cursor"] or UNSET
    waiting, decided = await asyncio.gather(
        request.run(
            "list_proposals", state="open", limit=PER_PAGE, cursor=_cursor_of(tab, "open", cursor)
        ),
        request.run(
            "list_decided_proposals", limit=PER_PAGE, cursor=_cursor_of(tab, "decided", cursor)
        ),
    )
    return await request.page(
        "proposals/page.html",
        status=status,
        **(
            {"proposal": None, "error": None, "hints": (), "refusal": None}
            | context
            | {
                "tab": tab,
                "listed": waiting if tab == "open" else decided,
                "waiting_total": waiting.total,
                "next_open": waiting.items[0].id if waiting.items else "",
                "decided_total": decided.total,
            }
        ),
    )


def _cursor_of(tab: str, list: str, cursor: Any) -> Any:
    return cursor if tab == list else UNSET
