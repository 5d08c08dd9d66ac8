"""What was given up, why, and how it is tried again."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from msgspec import UNSET

from accord.operations.errors import ConflictError
from accord.web.answers import Answer
from accord.web.pages.workflows.values import MUCH, shown
from accord.web.routing import Pages
from accord.web.turn import Turn

SECTION: Final = "/dead-letters"
SHOWN: Final = {"": False, "replayed": True, "all": UNSET}
"""Which letters are listed, by what the query says."""

pages: Final = Pages()


@pages.get("/dead-letters")
async def listed(turn: Turn) -> Answer:
    which = turn.query["show"]
    found = await turn.do(
        "list_dead_letters",
        replayed=SHOWN.get(which, False),
        limit=20,
        run=turn.query["run"] or UNSET,
        cursor=turn.query["cursor"] or UNSET,
    )
    given = turn.query.given("show", "run")
    return await turn.page(
        "workflows/dead_letters.html",
        found=found,
        which=which if which in SHOWN else "",
        here=f"{SECTION}?{urlencode(given)}",
        shown=shown,
    )


@pages.get("/dead-letters/{id}")
async def one(turn: Turn) -> Answer:
    letter = await turn.do("get_dead_letter", id=turn.values["id"])
    return await turn.page(
        "workflows/dead_letter.html", letter=letter, value=shown(letter.body, MUCH)
    )


@pages.post("/dead-letters/{id}/replay")
async def replay(turn: Turn) -> Answer:
    id = turn.values["id"]
    try:
        letter = await turn.do("replay_dead_letter", id=id)
    except ConflictError as error:
        return turn.go(SECTION, f"Nothing was done: {error.message}.")
    if letter.run_id:
        return turn.go(f"/runs/{quote(letter.run_id)}?follow=1", "It is tried again.")
    return turn.go(SECTION, "It is tried again.")
