"""Runs: which there are, by workflow, state and who started them."""

from __future__ import annotations

from time import time
from typing import Final, get_args
from urllib.parse import urlencode

from msgspec import UNSET

from accord.web.answers import Answer
from accord.web.pages.workflows.standing import seconds_between
from accord.web.routing import Pages
from accord.web.turn import Turn
from accord.workflows.core.state import RunStatus

FILTERS: Final = ("workflow", "state", "started_by")
AT_ONCE: Final = 50

pages: Final = Pages()


@pages.get("/runs")
async def listed(turn: Turn) -> Answer:
    given = turn.query.given(*FILTERS)
    cursor = turn.query["cursor"]
    found = await turn.do("list_runs", limit=AT_ONCE, cursor=cursor or UNSET, **given)
    now = time()
    context = {
        "found": found,
        "given": given,
        "here": f"/runs?{urlencode(given)}",
        "is_first": not cursor,
        "took": {
            each.id: seconds_between(each.created_at, each.finished_at, now) for each in found.items
        },
    }
    if turn.is_partial and turn.query["rows"]:
        return turn.piece("workflows/_runs.html", **context)
    return await turn.page("workflows/runs.html", states=get_args(RunStatus), **context)
