"""Proposals: what somebody, or their assistant, wants to have changed, and deciding on it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from msgspec import UNSET

from accord.hub.operations.proposals import Checked, Proposal
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

PER_PAGE: Final = 50
TABS: Final = ("open", "decided")


@pages.get("/proposals")
async def proposals(turn: Turn) -> Answer:
    return await _page(turn, tab="decided" if turn.query["state"] == "decided" else "open")


@pages.get("/proposals/{id}")
async def proposal(turn: Turn) -> Answer:
    return await _one(turn)


@pages.post("/proposals/{id}/accept")
async def accept(turn: Turn) -> Answer:
    return await _decide(turn, "accept_proposal", "Accepted")


@pages.post("/proposals/{id}/reject")
async def reject(turn: Turn) -> Answer:
    return await _decide(turn, "reject_proposal", "Rejected")


async def _decide(turn: Turn, operation: str, said: str) -> Answer:
    try:
        made = await turn.do(operation, id=turn.values["id"], reason=turn.form["reason"].strip())
    except ServiceError as error:
        return await _one(turn, error)
    return turn.go(f"/proposals/{made.id}", f"{said} what {made.author} proposed")


async def _one(turn: Turn, error: ServiceError | None = None) -> Answer:
    found: Proposal = await turn.do("get_proposal", id=turn.values["id"])
    check = await _checked(turn, found)
    return await _page(
        turn,
        status=200 if error is None else error.kind.status,
        tab="open" if found.state == "open" else "decided",
        proposal=found,
        error=error,
        hints=check.follows if isinstance(check, Checked) else (),
        refusal=check if isinstance(check, ServiceError) else None,
    )


async def _checked(turn: Turn, found: Proposal) -> Checked | ServiceError | None:
    """What accepting it would lead to; None where that is not to be asked. What was changed since
    is told anyway."""
    if found.state != "open" or found.stale or not turn.who.may("write"):
        return None
    try:
        check: Checked = await turn.do("check_proposal", id=found.id)
    except ServiceError as error:
        return error
    return check


async def _page(turn: Turn, *, status: int = 200, tab: str, **context: Any) -> Answer:
    cursor = turn.query["cursor"] or UNSET
    waiting, decided = await asyncio.gather(
        turn.do("list_proposals", state="open", limit=PER_PAGE, cursor=_of(tab, "open", cursor)),
        turn.do("list_decided_proposals", limit=PER_PAGE, cursor=_of(tab, "decided", cursor)),
    )
    return await turn.page(
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
