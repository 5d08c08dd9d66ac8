"""Traceability: coverage, gaps and how to close them, suspect links, and the matrix.

The rows of the matrix are requirements; the columns are the items linked with them, or the types of
links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET, Struct

from accord.hub.entities import Epic, Gap
from accord.hub.operations.coverage import GapFound, LackingItem, TracedRequirement
from accord.hub.operations.reference_data import RelationshipType
from accord.operations.errors import InvalidError, NotFoundError, ServiceError
from accord.web import svg
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

MAX_OFFERED: Final = 100
"""The most epics in a menu; ids of others can be typed."""


async def epics_offered(request: PageRequest) -> Sequence[Epic]:
    """Return the first epics, for a menu."""
    found = await request.run("list_epics", limit=MAX_OFFERED, fields=["title"])
    epics: Sequence[Epic] = found.items
    return epics


class Remedy(Struct, frozen=True):
    """The description of a kind of gap, and how to close such a gap."""

    title: str
    why: str
    label: str
    """The text of the link to the page that closes the gap."""
    path: str
    """The path of the page that closes the gap, with `{id}` for the reference id of the item."""
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
"""Remedies by kind of gap, the worst kind first."""


pages: Final = Pages()

FIRST: Final = 3
"""The most items that the overview lists for each kind of gap."""
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
        **_gap_words(),
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
        "traceability/gap.html", tab="overview", gap=found.gaps[0], **_gap_words()
    )


def _worst_first(found: Sequence[GapFound]) -> list[GapFound]:
    order = list(REMEDIES)
    return sorted(found, key=lambda each: order.index(each.gap))


def _gap_words() -> dict[str, Any]:
    return {"remedies": REMEDIES, "bar": svg.bar, "percent": svg.percent}


AT_ONCE: Final = 20


@pages.get("/traceability/suspects")
async def suspects(request: PageRequest) -> PageResponse:
    return await _suspects_page(request)


@pages.post("/traceability/suspects")
async def confirm(request: PageRequest) -> PageResponse:
    """Confirm the selected suspect links, or the single link whose button was pressed."""
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
        return await _suspects_page(request, error)
    notice = "Confirmed that the link holds" if len(ids) == 1 else f"Confirmed {len(ids)} links"
    return request.go("/traceability/suspects", notice)


@pages.post("/traceability/suspects/{id}/remove")
async def remove(request: PageRequest) -> PageResponse:
    outcome = await request.outcome("delete_relationship", id=request.values["id"])
    return request.go(
        "/traceability/suspects",
        f"Removed {outcome.result.deleted.replace('_', ' ')}; undo it under Changes",
    )


async def _suspects_page(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
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


MATRIX_ROWS: Final = 50
MAX_COLUMNS: Final = 40
"""The most columns of the matrix if each column is an item."""
VERIFIED_BY: Final = "is_verified_by"
DEFAULT_COLUMNS: Final = (
    VERIFIED_BY,
    "is_satisfied_by",
    "depends_on",
    "is_depended_on_by",
    "refines",
)
"""The relationships that are columns of the matrix by default."""


class Cell(Struct, frozen=True):
    """One entry in a cell of the matrix: a linked item, or the name of a relationship."""

    text: str
    href: str = ""
    is_suspect: bool = False


class MatrixRow(Struct, frozen=True):
    """A requirement as a row of the matrix; `cells` has the entries of each column."""

    traced: TracedRequirement
    cells: tuple[tuple[Cell, ...], ...]


class Column(Struct, frozen=True):
    name: str
    title: str
    href: str = ""


@pages.get("/traceability/matrix")
async def matrix(request: PageRequest) -> PageResponse:
    query = request.query
    error: ServiceError | None = None
    try:
        found, types, epics = await asyncio.gather(
            _find_rows(request), _types(request), epics_offered(request)
        )
    except (NotFoundError, InvalidError) as wrong:  # an unknown epic, an old cursor
        error, found = wrong, None
        types, epics = await asyncio.gather(_types(request), epics_offered(request))
    offered = offered_columns(types)
    chosen = [name for name in offered if name in query.every("type")] or [
        name for name in offered if name in DEFAULT_COLUMNS
    ]
    is_crossed = query["columns"] == "items"
    rows, columns, hidden = _table(found.items if found else [], chosen, is_crossed=is_crossed)
    return await request.page(
        "traceability/matrix.html",
        status=200 if error is None else error.kind.status,
        tab="matrix",
        section="/traceability",
        error=error,
        found=found,
        rows=rows,
        columns=columns,
        hidden=hidden,
        is_crossed=is_crossed,
        offered=offered,
        chosen=chosen,
        epics=epics,
        verified_by=VERIFIED_BY,
        more=_more(request, found),
        label=label,
    )


def offered_columns(types: Iterable[RelationshipType]) -> list[str]:
    """Return the names of the relationships that can be columns of the matrix.

    Each relationship type has one name per direction, a symmetric type only one name. Verification
    and satisfaction come first.
    """
    names = dict.fromkeys(name for each in types for name in (each.name, each.inverse))
    first = [name for name in DEFAULT_COLUMNS if name in names]
    return [*first, *sorted(name for name in names if name not in first)]


def label(name: str) -> str:
    """Return the label of a relationship: `Verified by` for `is_verified_by`."""
    return name.removeprefix("is_").replace("_", " ").capitalize()


async def _find_rows(request: PageRequest) -> Any:
    query = request.query
    return await request.run(
        "traceability_matrix",
        epic_id=query["epic"].strip() or UNSET,
        limit=MATRIX_ROWS,
        cursor=query["cursor"] or UNSET,
    )


async def _types(request: PageRequest) -> Sequence[RelationshipType]:
    found: Sequence[RelationshipType] = (await request.run("list_relationship_types")).items
    return found


def _table(
    traced: Sequence[TracedRequirement], chosen: Sequence[str], *, is_crossed: bool
) -> tuple[list[MatrixRow], list[Column], int]:
    """Return the rows and columns of the matrix, and the number of omitted columns."""
    if not is_crossed:
        rows = [MatrixRow(each, tuple(_ends(each, name) for name in chosen)) for each in traced]
        return rows, [Column(name, label(name)) for name in chosen], 0
    ends = sorted({end for each in traced for name in chosen for end in _linked(each, name)})
    shown = sorted(ends, key=_order)[:MAX_COLUMNS]
    rows = [
        MatrixRow(each, tuple(_crossing(each, end, chosen) for end in shown)) for each in traced
    ]
    columns = [Column(end, end, f"/items/{end}") for end in shown]
    return rows, columns, len(ends) - len(shown)


def _linked(traced: TracedRequirement, name: str) -> list[str]:
    """Return the items linked with a requirement by the relationship `name`.

    The acceptance criteria of a requirement count as verifying it.
    """
    found = list(traced.links.get(name, ()))
    if name == VERIFIED_BY and traced.acceptance_criteria:
        found = [
            traced.acceptance_criteria,
            *(end for end in found if end != traced.acceptance_criteria),
        ]
    return found


def _ends(traced: TracedRequirement, name: str) -> tuple[Cell, ...]:
    in_links = set(traced.links.get(name, ()))
    return tuple(
        Cell(end, f"/items/{end}", is_suspect=end in in_links and end in traced.suspect)
        for end in _linked(traced, name)
    )


def _crossing(traced: TracedRequirement, end: str, chosen: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(
        Cell(label(name), is_suspect=end in traced.links.get(name, ()) and end in traced.suspect)
        for name in chosen
        if end in _linked(traced, name)
    )


def _order(reference_id: str) -> tuple[str, int]:
    prefix, _, number = reference_id.partition("-")
    return prefix, int(number)


def _more(request: PageRequest, found: Any) -> str:
    """Return the path of the next rows of the matrix, "" if there are none."""
    if found is None or not found.has_more:
        return ""
    parameters = [
        (name, value) for name, value in request.query.pairs() if name != "cursor" and value
    ]
    return f"/traceability/matrix?{urlencode([*parameters, ('cursor', found.next_cursor)])}"
