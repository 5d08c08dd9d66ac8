"""Coverage: verified and satisfied requirements, gaps and how to close them, suspect links."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET, Struct

from accord.hub.entities import Epic, Gap
from accord.hub.operations.coverage import GapFound, LackingItem
from accord.operations.errors import InvalidError, NotFoundError, ServiceError
from accord.web.drawing import svg
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

MAX_OFFERED: Final = 100
"""More are found by typing their ids."""


async def epics_offered(request: PageRequest) -> Sequence[Epic]:
    """The first epics, by what they are called."""
    found = await request.run("list_epics", limit=MAX_OFFERED, fields=["title"])
    epics: Sequence[Epic] = found.items
    return epics


class Remedy(Struct, frozen=True):
    """A gap in words, and what to do about it."""

    title: str
    why: str
    label: str
    """Of the link that leads to where it is closed."""
    path: str
    """With `{id}` for the item."""
    needs_write: bool = True

    def href(self, item: LackingItem) -> str:
        return self.path.format(id=item.reference_id)


REMEDIES: Final[dict[Gap, Remedy]] = {
    "active_requirement_unverified": Remedy(
        "Active requirements that nothing verifies",
        "They are being built, and nobody could tell whether they work.",
        "Link what verifies it",
        "/items/{id}/link?type=~verifies",
    ),
    "suspect_links": Remedy(
        "Items whose links are suspect",
        "They say something else since their links were made.",
        "Look at its links",
        "/traceability/suspects",
        needs_write=False,
    ),
    "active_requirement_needs_obsolete": Remedy(
        "Active requirements that need an obsolete one",
        "What they depend on, derive from or refine has ended.",
        "See what it needs",
        "/traceability/graph?item={id}",
        needs_write=False,
    ),
    "open_under_cancelled": Remedy(
        "Open items under what was cancelled",
        "Nobody will finish them where they stand.",
        "Open it to end or move it",
        "/items/{id}",
    ),
    "story_without_requirements": Remedy(
        "User stories without requirements",
        "There is nothing to build yet.",
        "Add a requirement",
        "/new?parent={id}&kind=requirement",
    ),
    "story_without_criteria": Remedy(
        "User stories without acceptance criteria",
        "Nobody said when they are done.",
        "Add acceptance criteria",
        "/new?parent={id}&kind=acceptance_criteria",
    ),
    "criteria_without_requirements": Remedy(
        "Acceptance criteria without requirements",
        "Nothing is built to meet them.",
        "Link what it verifies",
        "/items/{id}/link?type=verifies",
    ),
    "epic_without_stories": Remedy(
        "Epics without user stories",
        "They are a title so far.",
        "Add a user story",
        "/new?parent={id}&kind=user_story",
    ),
    "requirement_without_verification": Remedy(
        "Drafts that nothing verifies yet",
        "They need acceptance criteria before they become active.",
        "Link what verifies it",
        "/items/{id}/link?type=~verifies",
    ),
    "steering_document_without_epics": Remedy(
        "Steering documents without epics",
        "They steer nothing.",
        "Open it to link an epic",
        "/items/{id}",
    ),
}
"""The worst first."""


pages: Final = Pages()

FIRST: Final = 3
"""How many items of a gap the overview names."""
EPICS: Final = 12
MAX_PAGE: Final = 50


@pages.get("/traceability")
async def overview(request: PageRequest) -> PageResponse:
    cache = request.services.cache
    found, epics, types = await asyncio.gather(
        cache.get("coverage", lambda: request.run("coverage_gaps", limit=FIRST)),
        request.run("coverage_by_epic", limit=EPICS, cursor=request.query["epics"] or UNSET),
        cache.get("coverage by type", lambda: request.run("coverage_by_type")),
    )
    return await request.page(
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
async def gap(request: PageRequest) -> PageResponse:
    name = request.values["gap"]
    if name not in REMEDIES:
        raise NotFoundError("there is no such gap")
    found = await request.run(
        "coverage_gaps", gap=name, limit=MAX_PAGE, cursor=request.query["cursor"] or UNSET
    )
    return await request.page(
        "traceability/gap.html", tab="overview", gap=found.gaps[0], **_words()
    )


def _worst_first(found: Sequence[GapFound]) -> list[GapFound]:
    order = list(REMEDIES)
    return sorted(found, key=lambda each: order.index(each.gap))


def _words() -> dict[str, Any]:
    return {"remedies": REMEDIES, "bar": svg.bar, "percent": svg.percent}


AT_ONCE: Final = 20


@pages.get("/traceability/suspects")
async def suspects(request: PageRequest) -> PageResponse:
    return await _page(request)


@pages.post("/traceability/suspects")
async def confirm(request: PageRequest) -> PageResponse:
    """Confirm those that are ticked, or the one whose button was pressed."""
    form = request.form
    ids = [form["one"]] if form["one"] else form.every("id")
    try:
        if not ids:
            raise InvalidError("id", "choose the links that still hold")
        steps = [
            {"operation": "confirm_relationship", "arguments": {"id": id, "reason": form["reason"]}}
            for id in ids
        ]
        await request.run("apply_changes", steps=steps)
    except ServiceError as error:
        return await _page(request, error)
    said = "Confirmed that the link holds" if len(ids) == 1 else f"Confirmed {len(ids)} links"
    return request.go("/traceability/suspects", said)


@pages.post("/traceability/suspects/{id}/remove")
async def remove(request: PageRequest) -> PageResponse:
    outcome = await request.outcome("delete_relationship", id=request.values["id"])
    return request.go(
        "/traceability/suspects",
        f"Removed {outcome.result.deleted.replace('_', ' ')}; undo it under Changes",
    )


async def _page(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found = await request.run(
        "list_suspect_relationships", limit=AT_ONCE, cursor=request.query["cursor"] or UNSET
    )
    return await request.page(
        "traceability/suspects.html",
        status=200 if error is None else error.kind.status,
        tab="suspects",
        section="/traceability",
        found=found,
        error=error,
    )
