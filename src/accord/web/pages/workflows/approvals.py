"""The decisions that wait for whoever looks."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from accord.web.answers import Answer
from accord.web.pages.workflows.values import shown
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.get("/approvals")
async def listed(turn: Turn) -> Answer:
    found = await turn.do("list_approvals", limit=50, cursor=turn.query["cursor"] or UNSET)
    return await turn.page(
        "workflows/approvals.html",
        section="/",
        found=found,
        may=turn.who.may("approve"),
        shown=shown,
    )
