"""The home page: recent changes, pending work, runs, and first steps of a new installation.

Parts that the caller may not read are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from accord.operations.auth.users import AccessToken
from accord.operations.context import utc_now
from accord.operations.errors import ServiceError
from accord.web.activity import days
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse, Redirect

pages: Final = Pages()

CHANGES: Final = 20
WAITING: Final = 4
"""The most pending objects of each kind that the page shows."""
FAILURES: Final = 3
HIDDEN: Final = "accord_steps"
"""The name of the cookie that hides the first steps on the home page."""
YEAR: Final = 365 * 86_400
STATES: Final = ("completed", "running", "waiting", "pending", "paused", "cancelled", "failed")
"""The states of runs, in the order of the home page's bar that shows how many runs are in each."""


class FirstStep(Struct, frozen=True):
    """A suggestion for the first steps in a new installation."""

    title: str
    text: str
    href: str
    label: str
    is_done: bool


class RunStateShare(Struct, frozen=True):
    """The part of a bar of width 100 that shows the share of runs in one state."""

    state: str
    count: int
    start: float
    width: float


@pages.get("/")
async def home(request: PageRequest) -> PageResponse:
    changes, waits, runs, steps = await asyncio.gather(
        _changes(request), _waits(request), _runs(request), _steps(request)
    )
    return await request.page("home/page.html", steps=steps, **changes, **waits, **runs)


@pages.get("/home/changes")
async def changes(request: PageRequest) -> PageResponse:
    """Show the recent changes: the first page, for a refresh, or the next page."""
    return request.piece("home/_changes.html", **await _changes(request))


@pages.get("/home/waits")
async def waits(request: PageRequest) -> PageResponse:
    return request.piece("home/_waits.html", **await _waits(request))


@pages.get("/home/runs")
async def runs(request: PageRequest) -> PageResponse:
    return request.piece("home/_runs.html", **await _runs(request))


@pages.post("/first-steps/hide")
async def hide_steps(request: PageRequest) -> PageResponse:
    return Redirect("/", request.cookie(HIDDEN, "hidden", seconds=YEAR))


async def _changes(request: PageRequest) -> dict[str, Any]:
    found = await request.run("list_news", limit=CHANGES, cursor=request.query["cursor"] or None)
    return {"news": found, "days": days(found.items, datetime.now(UTC).date())}


async def _waits(request: PageRequest) -> dict[str, Any]:
    approvals, proposals, suspects, comments, mine = await asyncio.gather(
        _run_or_none(request, "list_approvals", limit=WAITING),
        _run_or_none(request, "list_proposals", state="open", limit=WAITING),
        _run_or_none(request, "list_relationships", suspect=True, limit=WAITING),
        _run_or_none(request, "list_comments_for_me", limit=WAITING),
        _run_or_none(
            request,
            "search_global",
            query="*",
            kinds=["epic", "user_story"],
            assignee=request.user.username,
            status="In Progress",
            limit=WAITING,
        ),
    )
    return {
        "approvals": approvals,
        "proposals": proposals,
        "suspects": suspects,
        "comments": comments,
        "mine": mine,
    }


async def _runs(request: PageRequest) -> dict[str, Any]:
    counts, failed = await asyncio.gather(
        _run_or_none(request, "count_runs"),
        _run_or_none(request, "list_runs", state="failed", limit=FAILURES),
    )
    return {"runs": counts, "shares": shares(counts.by_state) if counts else [], "failed": failed}


def shares(counts: dict[str, int]) -> list[RunStateShare]:
    """Return the parts of the bar of run states, each wide enough to be visible."""
    present = [(state, counts[state]) for state in STATES if counts.get(state)]
    total = sum(count for _, count in present)
    wide = [max(100 * count / total, 2.0) for _, count in present]
    scale = 100 / sum(wide) if wide else 0
    made: list[RunStateShare] = []
    start = 0.0
    for (state, count), width in zip(present, wide, strict=True):
        made.append(RunStateShare(state, count, round(start, 2), round(width * scale, 2)))
        start += width * scale
    return made


async def _steps(request: PageRequest) -> list[FirstStep]:
    """Return the suggested first steps; none if all of them are done."""
    if request.cookies.get(HIDDEN) or not request.user.may("write"):
        return []
    epics, tokens, workflows = await asyncio.gather(
        _run_or_none(request, "list_epics", limit=1, detail="concise"),
        _run_or_none(request, "list_tokens", limit=WAITING),
        _run_or_none(request, "list_workflows", limit=1),
    )
    steps = [
        FirstStep(
            "Write down what should be built",
            "An epic holds user stories, and those hold criteria and requirements.",
            "/new?kind=epic",
            "Create an epic",
            bool(epics and epics.total),
        ),
        _connecting(tokens.items if tokens else []),
        FirstStep(
            "Have agents do the checking",
            "A workflow calls agents step by step, and waits for people where it should.",
            "/workflows/new",
            "Create a workflow",
            bool(workflows and workflows.total),
        ),
    ]
    if not request.user.is_administrator:
        del steps[-1]
    return [] if all(step.is_done for step in steps) else steps


def _connecting(tokens: Sequence[AccessToken]) -> FirstStep:
    """Return the first step that connects an assistant.

    If the user has an unused token, the step suggests this token instead of a new one.
    """
    now = utc_now()
    unused = [
        each.name
        for each in tokens
        if not each.revoked_at and not each.last_used_at and each.expires_at > now
    ]
    title, is_done = "Connect an assistant", any(each.last_used_at for each in tokens)
    if unused and not is_done:
        text = f"The token {unused[0]} is ready: give it to Claude, an editor or any MCP client."
        return FirstStep(title, text, "/tokens", "See tokens", is_done)
    text = "A token lets Claude, an editor or any MCP client read and propose changes."
    return FirstStep(title, text, "/tokens/new", "Create a token", is_done)


async def _run_or_none(request: PageRequest, operation: str, **arguments: Any) -> Any:
    """Return the result of an operation, None if the caller may not run it."""
    try:
        return await request.run(operation, **arguments)
    except ServiceError:
        return None
