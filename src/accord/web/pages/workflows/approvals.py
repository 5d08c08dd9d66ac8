"""Pending approvals, and dead letters: what was given up, why, and how to replay it."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from msgspec import UNSET

from accord.operations.errors import ConflictError
from accord.web.pages.workflows.definitions import MUCH, shown
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()


@pages.get("/approvals")
async def list_approvals(request: PageRequest) -> PageResponse:
    found = await request.run("list_approvals", limit=50, cursor=request.query["cursor"] or UNSET)
    return await request.page(
        "workflows/approvals.html",
        section="/",
        found=found,
        may=request.user.may("approve"),
        shown=shown,
    )


SECTION: Final = "/dead-letters"
SHOWN: Final = {"": False, "replayed": True, "all": UNSET}
"""Which letters are listed, by what the query says."""


@pages.get("/dead-letters")
async def list_dead_letters(request: PageRequest) -> PageResponse:
    which = request.query["show"]
    found = await request.run(
        "list_dead_letters",
        replayed=SHOWN.get(which, False),
        limit=20,
        run=request.query["run"] or UNSET,
        cursor=request.query["cursor"] or UNSET,
    )
    given = request.query.given("show", "run")
    return await request.page(
        "workflows/dead_letters.html",
        found=found,
        which=which if which in SHOWN else "",
        here=f"{SECTION}?{urlencode(given)}",
        shown=shown,
    )


@pages.get("/dead-letters/{id}")
async def one(request: PageRequest) -> PageResponse:
    letter = await request.run("get_dead_letter", id=request.values["id"])
    return await request.page(
        "workflows/dead_letter.html", letter=letter, value=shown(letter.body, MUCH)
    )


@pages.post("/dead-letters/{id}/replay")
async def replay(request: PageRequest) -> PageResponse:
    id = request.values["id"]
    try:
        letter = await request.run("replay_dead_letter", id=id)
    except ConflictError as error:
        return request.go(SECTION, f"Nothing was done: {error.message}.")
    if letter.run_id:
        return request.go(f"/runs/{quote(letter.run_id)}?follow=1", "It is tried again.")
    return request.go(SECTION, "It is tried again.")
