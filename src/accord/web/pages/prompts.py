"""Prompts for assistants: the one that is active is handed to them when they connect."""

from __future__ import annotations

from typing import Any, Final

from markupsafe import Markup

from accord.hub.entities import Difference
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.redline import redline, unified
from accord.web.routing import Pages
from accord.web.turn import Turn

PATH: Final = "/prompts"
PAGE: Final = 50
FIELDS: Final = ("name", "title", "description", "content", "role")
ROLES: Final = ("user", "assistant")

pages: Final = Pages()


@pages.get(PATH)
async def prompts(turn: Turn) -> Answer:
    page = await turn.do("list_prompts", limit=PAGE, **turn.query.given("cursor"))
    return await turn.page("prompts/list.html", page=page)


@pages.get(f"{PATH}/new")
async def new(turn: Turn) -> Answer:
    turn.who.require("admin", "create_prompt")
    return await _form(turn, None)


@pages.post(PATH)
async def create(turn: Turn) -> Answer:
    try:
        made = await turn.do("create_prompt", **turn.form.given(*FIELDS))
    except ServiceError as error:
        return await _form(turn, None, error)
    return turn.go(f"{PATH}/{made.reference_id}", f"{made.reference_id} is created, not active.")


@pages.get(f"{PATH}/{{id}}")
async def prompt(turn: Turn) -> Answer:
    found = await turn.do("get_prompt", id=turn.values["id"])
    return await turn.page("prompts/prompt.html", prompt=found)


@pages.get(f"{PATH}/{{id}}/edit")
async def edit(turn: Turn) -> Answer:
    turn.who.require("admin", "update_prompt")
    return await _form(turn, await turn.do("get_prompt", id=turn.values["id"]))


@pages.post(f"{PATH}/{{id}}")
async def update(turn: Turn) -> Answer:
    id = turn.values["id"]
    try:
        changed = await turn.do(
            "update_prompt",
            id=id,
            expected_version=turn.form["version"] or None,
            **{name: turn.form[name] for name in FIELDS if name in turn.form},
        )
    except ServiceError as error:
        return await _form(turn, await turn.do("get_prompt", id=id), error)
    return turn.go(f"{PATH}/{changed.reference_id}", f"{changed.reference_id} is saved.")


@pages.get(f"{PATH}/{{id}}/history")
async def history(turn: Turn) -> Answer:
    found = await turn.do("get_prompt", id=turn.values["id"])
    page = await turn.do("history", id=found.id, limit=PAGE, **turn.query.given("cursor"))
    return await turn.page("prompts/history.html", prompt=found, page=page, shown=_shown)


@pages.post(f"{PATH}/{{id}}/activate")
async def activate(turn: Turn) -> Answer:
    changed = await turn.do("activate_prompt", id=turn.values["id"])
    return turn.go(
        turn.form["next"] or PATH, f"{changed.reference_id} is what assistants are given now."
    )


@pages.post(f"{PATH}/{{id}}/deactivate")
async def deactivate(turn: Turn) -> Answer:
    changed = await turn.do("deactivate_prompt", id=turn.values["id"])
    return turn.go(turn.form["next"] or PATH, f"{changed.reference_id} is not active any more.")


@pages.post(f"{PATH}/{{id}}/delete")
async def delete(turn: Turn) -> Answer:
    found = await turn.do("get_prompt", id=turn.values["id"])
    await turn.do("delete_prompt", id=found.id)
    return turn.go(PATH, f"{found.reference_id} is deleted.")


def _shown(difference: Difference) -> Markup:
    """How one field changed."""
    if difference.diff:
        return unified(difference.diff)
    before, after = difference.before, difference.after
    return redline(str(before or ""), str(after or ""))


async def _form(turn: Turn, prompt: Any, error: ServiceError | None = None) -> Answer:
    """To write one, or to change one; with what was typed, if something is wrong with it."""
    shown = {name: turn.form[name] for name in FIELDS}
    if error is None and prompt is not None:
        shown = {name: getattr(prompt, name) for name in FIELDS}
    return await turn.page(
        "prompts/form.html",
        status=200 if error is None else error.kind.status,
        prompt=prompt,
        shown=shown,
        roles=ROLES,
        error=error,
    )
