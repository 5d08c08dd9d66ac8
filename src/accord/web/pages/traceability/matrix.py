"""The traceability matrix: requirements in rows, and in columns what they are linked with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET, Struct

from accord.hub.operations.coverage import TracedRequirement
from accord.hub.operations.reference_data import RelationshipType
from accord.operations.errors import InvalidError, NotFoundError, ServiceError
from accord.web.pages.traceability.coverage import epics_offered
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

ROWS: Final = 50
MAX_COLUMNS: Final = 40
"""Most columns where each is an item; more of them nobody reads."""
VERIFIED_BY: Final = "is_verified_by"
DEFAULT: Final = (VERIFIED_BY, "is_satisfied_by", "depends_on", "is_depended_on_by", "refines")
"""The columns where nobody chose any."""


class Cell(Struct, frozen=True):
    """One item in a cell, or one relationship."""

    text: str
    href: str = ""
    is_suspect: bool = False


class MatrixRow(Struct, frozen=True):
    """A requirement, and its cells in the order of the columns."""

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
            _found(request), _types(request), epics_offered(request)
        )
    except (NotFoundError, InvalidError) as wrong:  # an epic that is not there, an old cursor
        error, found = wrong, None
        types, epics = await asyncio.gather(_types(request), epics_offered(request))
    offered = offered_columns(types)
    chosen = [name for name in offered if name in query.every("type")] or [
        name for name in offered if name in DEFAULT
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
    """The names of relationships as a requirement sees them: of each type both directions, a
    symmetric one once. What verifies and what satisfies come first."""
    names = dict.fromkeys(name for each in types for name in (each.name, each.inverse))
    first = [name for name in DEFAULT if name in names]
    return [*first, *sorted(name for name in names if name not in first)]


def label(name: str) -> str:
    """`Verified by` for `is_verified_by`."""
    return name.removeprefix("is_").replace("_", " ").capitalize()


async def _found(request: PageRequest) -> Any:
    query = request.query
    return await request.run(
        "traceability_matrix",
        epic_id=query["epic"].strip() or UNSET,
        limit=ROWS,
        cursor=query["cursor"] or UNSET,
    )


async def _types(request: PageRequest) -> Sequence[RelationshipType]:
    found: Sequence[RelationshipType] = (await request.run("list_relationship_types")).items
    return found


def _table(
    traced: Sequence[TracedRequirement], chosen: Sequence[str], *, is_crossed: bool
) -> tuple[list[MatrixRow], list[Column], int]:
    """Rows, columns, and how many columns were left out."""
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
    """What is at the other ends; acceptance criteria verify what belongs to them."""
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
    """Where the rows behind these are."""
    if found is None or not found.has_more:
        return ""
    kept = [(name, value) for name, value in request.query.pairs() if name != "cursor" and value]
    return f"/traceability/matrix?{urlencode([*kept, ('cursor', found.next_cursor)])}"
