"""Baselines: snapshots of all items, their comparison and export."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from accord.operations.errors import ServiceError
from accord.web.pages.items.detail import find_item
from accord.web.pages.traceability import epics_offered
from accord.web.request import PageRequest, Pages
from accord.web.responses import FileDownload, PageResponse

pages: Final = Pages()

NOW: Final = "current"
"""The name that stands for the current state of all items in a comparison."""
PER_PAGE: Final = 50
OFFERED: Final = 100
COMPARED: Final = 30
SHORTENED: Final = 1_000
"""The most characters of an item's text in the list of a baseline's items. The page of the item in
the baseline shows the whole text."""


@pages.get("/baselines")
async def baselines(request: PageRequest) -> PageResponse:
    found = await request.run(
        "list_baselines", limit=PER_PAGE, cursor=request.query["cursor"] or UNSET
    )
    return await _page(request, "list", found=found)


@pages.get("/baselines/new")
async def form(request: PageRequest) -> PageResponse:
    return await _form(request)


@pages.post("/baselines/new")
async def create(request: PageRequest) -> PageResponse:
    words = request.form
    try:
        made = await request.run(
            "create_baseline",
            name=words["name"].strip(),
            description=words["description"],
            epic_id=words["epic"].strip() or UNSET,
        )
    except ServiceError as error:
        return await _form(request, error)
    return request.go(f"/baselines/{made.id}", f"Kept {made.entries:,} entries as {made.name}")


@pages.get("/baselines/compare")
async def choose(request: PageRequest) -> PageResponse:
    """Redirect to the page that compares the two baselines selected in a form."""
    a, b = request.query["a"], request.query["b"]
    one = await request.run("get_baseline", id=a, limit=1)
    other = NOW if b == NOW else (await request.run("get_baseline", id=b, limit=1)).id
    return request.go(f"/baselines/{one.id}/compare?with={other}")


@pages.get("/baselines/{id}")
async def baseline(request: PageRequest) -> PageResponse:
    found = await request.run(
        "get_baseline",
        id=request.values["id"],
        limit=PER_PAGE,
        cursor=request.query["cursor"] or UNSET,
    )
    return await _page(request, "one", found=found)


@pages.get("/baselines/{id}/items/{reference}")
async def entry(request: PageRequest) -> PageResponse:
    """Show the text of an item in a baseline, with a link to its current text."""
    one = await request.run("get_baseline", id=request.values["id"], limit=1)
    kept = await request.run(
        "get_baseline_entry", id=one.id, reference_id=request.values["reference"]
    )
    try:
        item = await find_item(request, kept.reference_id)
    except ServiceError:  # deleted since then
        item = None
    return await _page(request, "entry", one=one, kept=kept, item=item)


@pages.get("/baselines/{id}/compare")
async def compare(request: PageRequest) -> PageResponse:
    id, other = request.values["id"], request.query["with"] or NOW
    one = await request.run("get_baseline", id=id, limit=1)
    two = None if other == NOW else await request.run("get_baseline", id=other, limit=1)
    b, cursor = NOW if two is None else two.id, request.query["cursor"]
    found = await request.services.cache.get(
        f"comparison {one.id} {b} {cursor}",
        lambda: request.run(
            "compare_baselines", a=one.id, b=b, limit=COMPARED, cursor=cursor or UNSET
        ),
    )
    return await _page(
        request,
        "compare",
        one=one,
        two=two,
        other=b,
        found=found,
        offered=await request.run("list_baselines", limit=OFFERED),
    )


@pages.get("/baselines/{id}/export")
async def export(request: PageRequest) -> PageResponse:
    file = await request.run("export_baseline", id=request.values["id"])
    return FileDownload(file.content.encode(), file.file_name, file.media_type)


async def _form(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    return await _page(
        request,
        "new",
        status=200 if error is None else error.kind.status,
        error=error,
        epics=await epics_offered(request),
    )


async def _page(
    request: PageRequest, template: str, *, status: int = 200, **context: Any
) -> PageResponse:
    return await request.page(
        f"baselines/{template}.html",
        status=status,
        tab="baselines",
        section="/traceability",
        now=NOW,
        shortened=SHORTENED,
        **context,
    )
