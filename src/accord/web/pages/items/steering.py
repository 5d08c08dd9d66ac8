"""Steering documents: what guides the work on epics, as a list."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

MAX_SHOWN: Final = 50


@pages.get("/steering-documents")
async def list_all(turn: Turn) -> Answer:
    documents = await turn.do(
        "list_steering_documents", limit=MAX_SHOWN, cursor=turn.query["cursor"] or UNSET
    )
    return await turn.page(
        "items/steering.html",
        section="/requirements",
        documents=documents,
        may_write=turn.who.may("write"),
    )
