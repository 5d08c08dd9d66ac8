"""Types of requirements and of relationships, and labels: what administrators arrange for all."""

from __future__ import annotations

from typing import Final

from accord.operations.errors import ServiceError
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

PATH: Final = "/settings"
PAGE: Final = 100

pages: Final = Pages()


@pages.get(PATH)
async def settings(request: PageRequest) -> PageResponse:
    request.user.require("admin", "this page")
    return await _settings(request)


@pages.post(f"{PATH}/requirement-types")
async def add_requirement_type(request: PageRequest) -> PageResponse:
    return await _done(
        request, "create_requirement_type", "is added", **request.form.given("name", "description")
    )


@pages.post(f"{PATH}/requirement-types/change")
async def describe_requirement_type(request: PageRequest) -> PageResponse:
    form = request.form
    return await _done(
        request,
        "update_requirement_type",
        "is changed",
        name=form["name"],
        description=form["description"],
    )


@pages.post(f"{PATH}/requirement-types/delete")
async def delete_requirement_type(request: PageRequest) -> PageResponse:
    return await _done(request, "delete_requirement_type", "is deleted", name=request.form["name"])


@pages.post(f"{PATH}/relationship-types")
async def add_relationship_type(request: PageRequest) -> PageResponse:
    return await _done(
        request,
        "create_relationship_type",
        "is added",
        **request.form.given("name", "inverse"),
        symmetric="symmetric" in request.form,
        acyclic="acyclic" in request.form,
    )


@pages.post(f"{PATH}/relationship-types/delete")
async def delete_relationship_type(request: PageRequest) -> PageResponse:
    return await _done(request, "delete_relationship_type", "is deleted", name=request.form["name"])


@pages.post(f"{PATH}/labels")
async def add_label(request: PageRequest) -> PageResponse:
    return await _done(request, "create_label", "is added", **request.form.given("name", "colour"))


@pages.post(f"{PATH}/labels/{{id}}")
async def change_label(request: PageRequest) -> PageResponse:
    return await _done(
        request,
        "update_label",
        "is changed",
        id=request.values["id"],
        **request.form.given("name", "colour"),
    )


@pages.post(f"{PATH}/labels/{{id}}/delete")
async def delete_label(request: PageRequest) -> PageResponse:
    """Off all items that have it, too: the page says on how many it is."""
    return await _done(request, "delete_label", "is deleted", id=request.values["id"], force=True)


async def _done(
    request: PageRequest, operation: str, notice: str, **arguments: object
) -> PageResponse:
    try:
        result = await request.run(operation, **arguments)
    except ServiceError as error:
        if not request.user.is_administrator:
            raise
        return await _settings(request, error)
    name = getattr(result, "name", None) or result.deleted
    return request.go(PATH, f"{name} {notice}.")


async def _settings(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    return await request.page(
        "settings/settings.html",
        status=200 if error is None else error.kind.status,
        requirement_types=await request.run("list_requirement_types"),
        relationship_types=await request.run("list_relationship_types"),
        labels=await request.run("list_labels", limit=PAGE, **request.query.given("cursor")),
        error=error,
    )
