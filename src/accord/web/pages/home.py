"""What changed, what waits for me, how runs are."""

from __future__ import annotations

from typing import Final

from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.get("/")
async def home(turn: Turn) -> Answer:
    return await turn.page(
        "home.html",
        changes=await turn.do("list_changes", limit=15),
        approvals=await turn.do("list_approvals", limit=10),
        proposals=await turn.do("list_proposals", state="open", limit=10),
        runs=await turn.do("list_runs", limit=10),
    )
