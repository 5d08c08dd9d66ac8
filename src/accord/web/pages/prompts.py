"""The pages about prompts for assistants.

An assistant gets the active prompt when it connects.
"""

from __future__ import annotations

from typing import Any, Final

from markupsafe import Markup

from accord.hub.entities import Difference
from accord.operations.errors import ServiceError
from accord.web.redline import redline, unified
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

PATH: Final = "/prompts"
PAGE: Final = 50
FIELDS: Final = ("name", "title", "description", "content", "role")
ROLES: Final = ("user", "assistant")

pages: Final = Pages()


@pages.get(PATH)
async def prompts(request: PageRequest) -> PageResponse:
    page = await request.run("list_prompts", limit=PAGE, **request.query.given("cursor"))
    return await request.page("prompts/list.html", page=page)


@pages.get(f"{PATH}/new")
async def new(request: PageRequest) -> PageResponse:
    request.user.require("admin", "create_prompt")
    return await _form(request, None)


@pages.post(PATH)
async def create(request: PageRequest) -> PageResponse:
    try:
        made = await request.run("create_prompt", **request.form.given(*FIELDS))
    except ServiceError as error:
        return await _form(request, None, error)
    return request.go(f"{PATH}/{made.reference_id}", f"{made.reference_id} is created, not active.")


@pages.get(f"{PATH}/{{id}}")
async def prompt(request: PageRequest) -> PageResponse:
    found = await request.run("get_prompt", id=request.values["id"])
    return await request.page("prompts/prompt.html", prompt=found)


@pages.get(f"{PATH}/{{id}}/edit")
async def edit(request: PageRequest) -> PageResponse:
    request.user.require("admin", "update_prompt")
    return await _form(request, await request.run("get_prompt", id=request.values["id"]))


@pages.post(f"{PATH}/{{id}}")
async def update(request: PageRequest) -> PageResponse:
    id = request.values["id"]
    try:
        changed = await request.run(
            "update_prompt",
            id=id,
            expected_version=request.form["version"] or None,
            **{name: request.form[name] for name in FIELDS if name in request.form},
        )
    except ServiceError as error:
        return await _form(request, await request.run("get_prompt", id=id), error)
    return request.go(f"{PATH}/{changed.reference_id}", f"{changed.reference_id} is saved.")


@pages.get(f"{PATH}/{{id}}/history")
async def history(request: PageRequest) -> PageResponse:
    found = await request.run("get_prompt", id=request.values["id"])
    page = await request.run("history", id=found.id, limit=PAGE, **request.query.given("cursor"))
    return await request.page(
        "prompts/history.html", prompt=found, page=page, shown=_redline_difference
    )


@pages.post(f"{PATH}/{{id}}/activate")
async def activate(request: PageRequest) -> PageResponse:
    changed = await request.run("activate_prompt", id=request.values["id"])
    return request.go(
        request.form["next"] or PATH, f"{changed.reference_id} is what assistants are given now."
    )


@pages.post(f"{PATH}/{{id}}/deactivate")
async def deactivate(request: PageRequest) -> PageResponse:
    changed = await request.run("deactivate_prompt", id=request.values["id"])
    return request.go(
        request.form["next"] or PATH, f"{changed.reference_id} is not active any more."
    )


@pages.post(f"{PATH}/{{id}}/delete")
async def delete(request: PageRequest) -> PageResponse:
    found = await request.run("get_prompt", id=request.values["id"])
    await request.run("delete_prompt", id=found.id)
    return request.go(PATH, f"{found.reference_id} is deleted.")


def _redline_difference(difference: Difference) -> Markup:
    """Return the redline of a changed field."""
    if difference.diff:
        return unified(difference.diff)
    before, after = difference.before, difference.after
    return redline(str(before or ""), str(after or ""))


async def _form(
    request: PageRequest, prompt: Any, error: ServiceError | None = None
) -> PageResponse:
    """Show the form for a new or changed prompt; after an error, with the values sent."""
    shown = {name: request.form[name] for name in FIELDS}
    if error is None and prompt is not None:
        shown = {name: getattr(prompt, name) for name in FIELDS}
    return await request.page(
        "prompts/form.html",
        status=200 if error is None else error.kind.status,
        prompt=prompt,
        shown=shown,
        roles=ROLES,
        error=error,
    )
