"""The history of an item, version by version, and the list of its steering documents."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from accord.web.pages.items.detail import done, entries_of, find_item, rights, show
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

pages: Final = Pages()

MAX_VERSIONS: Final = 20


@pages.get("/items/{id}/history")
async def history(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    page = await request.run(
        "history",
        id=item.reference_id,
        related=True,
        limit=MAX_VERSIONS,
        cursor=request.query["cursor"] or UNSET,
    )
    return await show(
        request,
        "_history",
        item=item,
        page=page,
        entries=entries_of(request, page.items, is_first=not request.query["cursor"]),
        **rights(request, item),
    )


@pages.get("/items/{id}/compare")
async def compare(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    asked = (request.query["a"] or "1", request.query["b"] or str(item.version))
    older, newer = sorted(asked, key=_order)
    compared = await request.run("compare_versions", id=item.reference_id, a=older, b=newer)
    return await show(request, "_compare", item=item, compared=compared)


@pages.post("/items/{id}/undo")
async def undo(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    await request.run("undo", change_id=request.form["change_id"])
    return await done(request, item.reference_id, "The change was undone.")


@pages.post("/items/{id}/restore")
async def restore(request: PageRequest) -> PageResponse:
    item = await find_item(request, request.values["id"])
    version = request.form["version"]
    await request.run("restore_version", id=item.reference_id, version=version)
    return await done(request, item.reference_id, f"Version {version} is restored.")


def _order(version: str) -> int:
    return int(version) if version.isdecimal() and len(version) < 10 else 0


MAX_STEERING_DOCUMENTS: Final = 50


@pages.get("/steering-documents")
async def list_all(request: PageRequest) -> PageResponse:
    documents = await request.run(
        "list_steering_documents",
        limit=MAX_STEERING_DOCUMENTS,
        cursor=request.query["cursor"] or UNSET,
    )
    return await request.page(
        "items/steering.html",
        section="/requirements",
        documents=documents,
        may_write=request.user.may("write"),
    )
