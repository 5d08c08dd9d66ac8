"""How much is verified and satisfied, and what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from accord.hub.operations.coverage import GapFound
from accord.operations.errors import NotFoundError
from accord.web import charts
from accord.web.answers import Answer
from accord.web.pages.traceability.gaps import REMEDIES
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

FIRST: Final = 3
"""How many items of a gap the overview names."""
EPICS: Final = 12
MAX_PAGE: Final = 50


@pages.get("/traceability")
async def overview(turn: Turn) -> Answer:
    keeping = turn.services.keeping
    found, epics, types = await asyncio.gather(
        keeping.get("coverage", lambda: turn.do("coverage_gaps", limit=FIRST)),
        turn.do("coverage_by_epic", limit=EPICS, cursor=turn.query["epics"] or UNSET),
        keeping.get("coverage by type", lambda: turn.do("coverage_by_type")),
    )
    return await turn.page(
        "traceability/overview.html",
        tab="overview",
        figures=found.figures,
        satisfied=sum(each.satisfied for each in types.items),
        gaps=_worst_first(found.gaps),
        epics=epics,
        types=types.items,
        **_words(),
    )


@pages.get("/traceability/gaps/{gap}")
async def gap(turn: Turn) -> Answer:
    name = turn.values["gap"]
    if name not in REMEDIES:
        raise NotFoundError("there is no such gap")
    found = await turn.do(
        "coverage_gaps", gap=name, limit=MAX_PAGE, cursor=turn.query["cursor"] or UNSET
    )
    return await turn.page("traceability/gap.html", tab="overview", gap=found.gaps[0], **_words())


def _worst_first(found: Sequence[GapFound]) -> list[GapFound]:
    order = list(REMEDIES)
    return sorted(found, key=lambda each: order.index(each.gap))


def _words() -> dict[str, Any]:
    return {"remedies": REMEDIES, "bar": charts.bar, "percent": charts.percent}
