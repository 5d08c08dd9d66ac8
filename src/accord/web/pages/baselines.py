"""Baselines: what everything said at one moment, kept, and compared."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.operations.errors import ServiceError
from accord.web.answers import Answer, File
from accord.web.pages.items.item import find_item
from accord.web.pages.traceability.epics import epics_offered
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

NOW: Final = "current"
"""What comparisons call the present."""
PER_PAGE: Final = 50
OFFERED: Final = 100
COMPARED: Final = 30
SHORTENED: Final = 1_000
"""Characters of a text that the list of a baseline shows; the page of an entry shows all of it."""


@pages.get("/baselines")
async def baselines(turn: Turn) -> Answer:
    found = await turn.do("list_baselines", limit=PER_PAGE, cursor=turn.query["cursor"] or UNSET)
    return await _page(turn, "list", found=found)


@pages.get("/baselines/new")
async def form(turn: Turn) -> Answer:
    return await _form(turn)


@pages.post("/baselines/new")
async def create(turn: Turn) -> Answer:
    words = turn.form
    try:
        made = await turn.do(
            "create_baseline",
            name=words["name"].strip(),
            description=words["description"],
            epic_id=words["epic"].strip() or UNSET,
        )
    except ServiceError as error:
        return await _form(turn, error)
    return turn.go(f"/baselines/{made.id}", f"Kept {made.entries:,} entries as {made.name}")


@pages.get("/baselines/compare")
async def choose(turn: Turn) -> Answer:
    """The form of the list: go to where the comparison of two is."""
    a, b = turn.query["a"], turn.query["b"]
    one = await turn.do("get_baseline", id=a, limit=1)
    other = NOW if b == NOW else (await turn.do("get_baseline", id=b, limit=1)).id
    return turn.go(f"/baselines/{one.id}/compare?with={other}")


@pages.get("/baselines/{id}")
async def baseline(turn: Turn) -> Answer:
    found = await turn.do(
        "get_baseline",
        id=turn.values["id"],
        limit=PER_PAGE,
        cursor=turn.query["cursor"] or UNSET,
    )
    return await _page(turn, "one", found=found)


@pages.get("/baselines/{id}/items/{reference}")
async def entry(turn: Turn) -> Answer:
    """The agreed text of one item, beside a link to what it says today."""
    one = await turn.do("get_baseline", id=turn.values["id"], limit=1)
    kept = await turn.do("get_baseline_entry", id=one.id, reference_id=turn.values["reference"])
    try:
        item = await find_item(turn, kept.reference_id)
    except ServiceError:  # it was deleted since
        item = None
    return await _page(turn, "entry", one=one, kept=kept, item=item)


@pages.get("/baselines/{id}/compare")
async def compare(turn: Turn) -> Answer:
    id, other = turn.values["id"], turn.query["with"] or NOW
    one = await turn.do("get_baseline", id=id, limit=1)
    two = None if other == NOW else await turn.do("get_baseline", id=other, limit=1)
    b, cursor = NOW if two is None else two.id, turn.query["cursor"]
    found = await turn.services.keeping.get(
        f"comparison {one.id} {b} {cursor}",
        lambda: turn.do("compare_baselines", a=one.id, b=b, limit=COMPARED, cursor=cursor or UNSET),
    )
    return await _page(
        turn,
        "compare",
        one=one,
        two=two,
        other=b,
        found=found,
        offered=await turn.do("list_baselines", limit=OFFERED),
    )


@pages.get("/baselines/{id}/export")
async def export(turn: Turn) -> Answer:
    file = await turn.do("export_baseline", id=turn.values["id"])
    return File(file.content.encode(), file.file_name, file.media_type)


async def _form(turn: Turn, error: ServiceError | None = None) -> Answer:
    return await _page(
        turn,
        "new",
        status=200 if error is None else error.kind.status,
        error=error,
        epics=await epics_offered(turn),
    )


async def _page(turn: Turn, template: str, *, status: int = 200, **context: Any) -> Answer:
    return await turn.page(
        f"baselines/{template}.html",
        status=status,
        tab="baselines",
        section="/traceability",
        now=NOW,
        shortened=SHORTENED,
        **context,
    )
