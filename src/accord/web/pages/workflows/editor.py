"""The editor of workflow definitions.

It checks the text while the user types, shows the line of each problem, and draws the graph.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from accord.operations.errors import ServiceError
from accord.web.pages.workflows.definitions import (
    EXAMPLE,
    SECTION,
    as_yaml,
    line_of,
    picture,
    without_version,
)
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

MAX_PROBLEMS: Final = 50
"""The most problems of a definition that are shown: the first ones often cause the others."""

pages: Final = Pages()


class DefinitionProblem(Struct, frozen=True):
    """A problem found in a definition."""

    place: str
    line: int | None
    message: str
    hint: str


class DefinitionCheck(Struct, frozen=True):
    """The result of checking a definition."""

    problems: tuple[DefinitionProblem, ...] = ()
    total: int = 0
    valid: Any = None
    """The result of `validate_workflow`; None if there are problems or nothing was checked."""
    picture: Any = None


@pages.get("/workflows/new")
async def new(request: PageRequest) -> PageResponse:
    return await _page(request, EXAMPLE, DefinitionCheck())


@pages.post("/workflows/new")
async def create(request: PageRequest) -> PageResponse:
    return await _take(request)


@pages.get("/workflows/{name}/edit")
async def edit(request: PageRequest) -> PageResponse:
    workflow = await request.run("get_workflow", name=request.values["name"])
    return await _page(request, as_yaml(without_version(workflow.definition)), DefinitionCheck())


@pages.post("/workflows/{name}/edit")
async def save(request: PageRequest) -> PageResponse:
    return await _take(request)


@pages.post("/workflows/check")
async def check(request: PageRequest) -> PageResponse:
    """Check the text in the editor and show its problems."""
    checked = await _check(request, request.form["source"])
    return request.piece("workflows/_checked.html", checked=checked, name=request.form["name"])


async def _take(request: PageRequest) -> PageResponse:
    source = request.form["source"].replace("\r\n", "\n")
    if request.form["act"] == "check":
        return await _page(request, source, await _check(request, source))
    try:
        saved = await request.run("create_workflow", definition=source)
    except ServiceError as error:
        if "problems" not in error.data:
            return await _page(request, source, DefinitionCheck(), error)
        return await _page(request, source, _problems(source, error), status=error.kind.status)
    return request.go(f"/workflows/{quote(saved.name)}", f"{saved.id} is saved.")


async def _check(request: PageRequest, source: str) -> DefinitionCheck:
    try:
        valid = await request.run("validate_workflow", definition=source)
    except ServiceError as error:
        if "problems" not in error.data:
            raise
        return _problems(source, error)
    return DefinitionCheck(valid=valid, picture=picture(valid.definition))


def _problems(source: str, error: ServiceError) -> DefinitionCheck:
    problems = error.data["problems"]
    lines = line_of(source, [each["path"] for each in problems])
    found = [
        DefinitionProblem(each["path"], line, each["message"], each["hint"])
        for each, line in zip(problems, lines, strict=True)
    ]
    found.sort(key=lambda each: each.line or 0)
    return DefinitionCheck(problems=tuple(found[:MAX_PROBLEMS]), total=len(found))


async def _page(
    request: PageRequest,
    source: str,
    checked: DefinitionCheck,
    error: ServiceError | None = None,
    *,
    status: int = 200,
) -> PageResponse:
    request.user.require("admin", "Editing workflows")
    return await request.page(
        "workflows/edit.html",
        status=status if error is None else error.kind.status,
        section=SECTION,
        name=request.values.get("name", "").partition("@")[0],
        source=source,
        checked=checked,
        error=error,
    )
