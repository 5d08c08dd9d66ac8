"""Writing definitions: checked as one types, with the place of each problem, and drawn once there
are none."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.pages.workflows.definitions import SECTION, picture
from accord.web.pages.workflows.places import line_of
from accord.web.pages.workflows.source import EXAMPLE, as_yaml, without_version
from accord.web.routing import Pages
from accord.web.turn import Turn

MAX_PROBLEMS: Final = 50
"""How many are shown; the first ones often bring others with them."""

pages: Final = Pages()


class Found(Struct, frozen=True):
    """Something that is wrong."""

    place: str
    line: int | None
    message: str
    hint: str


class Checked(Struct, frozen=True):
    """What a check of a definition gave."""

    problems: tuple[Found, ...] = ()
    total: int = 0
    valid: Any = None
    """What `validate_workflow` says; None where there are problems, or nothing was checked."""
    picture: Any = None


@pages.get("/workflows/new")
async def new(turn: Turn) -> Answer:
    return await _page(turn, EXAMPLE, Checked())


@pages.post("/workflows/new")
async def create(turn: Turn) -> Answer:
    return await _take(turn)


@pages.get("/workflows/{name}/edit")
async def edit(turn: Turn) -> Answer:
    workflow = await turn.do("get_workflow", name=turn.values["name"])
    return await _page(turn, as_yaml(without_version(workflow.definition)), Checked())


@pages.post("/workflows/{name}/edit")
async def save(turn: Turn) -> Answer:
    return await _take(turn)


@pages.post("/workflows/check")
async def check(turn: Turn) -> Answer:
    """What is wrong with a text as it is now."""
    checked = await _check(turn, turn.form["source"])
    return turn.piece("workflows/_checked.html", checked=checked, name=turn.form["name"])


async def _take(turn: Turn) -> Answer:
    source = turn.form["source"].replace("\r\n", "\n")
    if turn.form["act"] == "check":
        return await _page(turn, source, await _check(turn, source))
    try:
        saved = await turn.do("create_workflow", definition=source)
    except ServiceError as error:
        if "problems" not in error.data:
            return await _page(turn, source, Checked(), error)
        return await _page(turn, source, _problems(source, error), status=error.kind.status)
    return turn.go(f"/workflows/{quote(saved.name)}", f"{saved.id} is saved.")


async def _check(turn: Turn, source: str) -> Checked:
    try:
        valid = await turn.do("validate_workflow", definition=source)
    except ServiceError as error:
        if "problems" not in error.data:
            raise
        return _problems(source, error)
    return Checked(valid=valid, picture=picture(valid.definition))


def _problems(source: str, error: ServiceError) -> Checked:
    told = error.data["problems"]
    lines = line_of(source, [each["path"] for each in told])
    found = [
        Found(each["path"], line, each["message"], each["hint"])
        for each, line in zip(told, lines, strict=True)
    ]
    found.sort(key=lambda each: each.line or 0)
    return Checked(problems=tuple(found[:MAX_PROBLEMS]), total=len(found))


async def _page(
    turn: Turn,
    source: str,
    checked: Checked,
    error: ServiceError | None = None,
    *,
    status: int = 200,
) -> Answer:
    turn.who.require("admin", "Editing workflows")
    return await turn.page(
        "workflows/edit.html",
        status=status if error is None else error.kind.status,
        section=SECTION,
        name=turn.values.get("name", "").partition("@")[0],
        source=source,
        checked=checked,
        error=error,
    )
