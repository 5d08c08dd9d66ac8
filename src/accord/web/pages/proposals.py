"""Proposals: what somebody, or their assistant, wants to have changed, and deciding on it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from msgspec import UNSET

from accord.hub.operations.proposals import Proposal, ProposalCheck
from accord.operations.errors import ServiceError
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

PER_PAGE: Final = 50
TABS: Final = ("open", "decided")


@pages.get("/proposals")
async def proposals(request: PageRequest) -> PageResponse:
    return await _page(request, tab="decided" if request.query["state"] == "decided" else "open")


@pages.get("/proposals/{id}")
async def proposal(request: PageRequest) -> PageResponse:
    return await _one(request)


@pages.post("/proposals/{id}/accept")
async def accept(request: PageRequest) -> PageResponse:
    return await _decide(request, "accept_proposal", "Accepted")


@pages.post("/proposals/{id}/reject")
async def reject(request: PageRequest) -> PageResponse:
    return await _decide(request, "reject_proposal", "Rejected")


async def _decide(request: PageRequest, operation: str, said: str) -> PageResponse:
    try:
        made = await request.run(
            operation, id=request.values["id"], reason=request.form["reason"].strip()
        )
    except ServiceError as error:
        return await _one(request, error)
    return request.go(f"/proposals/{made.id}", f"{said} what {made.author} proposed")


async def _one(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found: Proposal = await request.run("get_proposal", id=request.values["id"])
    check = await _checked(request, found)
    return await _page(
        request,
        status=200 if error is None else error.kind.status,
        tab="open" if found.state == "open" else "decided",
        proposal=found,
        error=error,
        hints=check.follows if isinstance(check, ProposalCheck) else (),
        refusal=check if isinstance(check, ServiceError) else None,
    )


async def _checked(request: PageRequest, found: Proposal) -> ProposalCheck | ServiceError | None:
    """What accepting it would lead to; None where that is not to be asked. What was changed since
    is told anyway."""
    if found.state != "open" or found.stale or not request.user.may("write"):
        return None
    try:
        check: ProposalCheck = await request.run("check_proposal", id=found.id)
    except ServiceError as error:
        return error
    return check


async def _page(
    request: PageRequest, *, status: int = 200, tab: str, **context: Any
) -> PageResponse:
    cursor = request.query["cursor"] or UNSET
    waiting, decided = await asyncio.gather(
        request.run(
            "list_proposals", state="open", limit=PER_PAGE, cursor=_of(tab, "open", cursor)
        ),
        request.run("list_decided_proposals", limit=PER_PAGE, cursor=_of(tab, "decided", cursor)),
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


def _of(tab: str, list: str, cursor: Any) -> Any:
    return cursor if tab == list else UNSET
