"""Types of requirements and of relationships, and labels: what administrators arrange for all."""

from __future__ import annotations

from typing import Final

from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

PATH: Final = "/settings"
PAGE: Final = 100

pages: Final = Pages()


@pages.get(PATH)
async def settings(turn: Turn) -> Answer:
    turn.who.require("admin", "this page")
    return await _settings(turn)


@pages.post(f"{PATH}/requirement-types")
async def add_requirement_type(turn: Turn) -> Answer:
    return await _done(
        turn, "create_requirement_type", "is added", **turn.form.given("name", "description")
    )


@pages.post(f"{PATH}/requirement-types/change")
async def describe_requirement_type(turn: Turn) -> Answer:
    form = turn.form
    return await _done(
        turn,
        "update_requirement_type",
        "is changed",
        name=form["name"],
        description=form["description"],
    )


@pages.post(f"{PATH}/requirement-types/delete")
async def delete_requirement_type(turn: Turn) -> Answer:
    return await _done(turn, "delete_requirement_type", "is deleted", name=turn.form["name"])


@pages.post(f"{PATH}/relationship-types")
async def add_relationship_type(turn: Turn) -> Answer:
    return await _done(
        turn,
        "create_relationship_type",
        "is added",
        **turn.form.given("name", "inverse"),
        symmetric="symmetric" in turn.form,
        acyclic="acyclic" in turn.form,
    )


@pages.post(f"{PATH}/relationship-types/delete")
async def delete_relationship_type(turn: Turn) -> Answer:
    return await _done(turn, "delete_relationship_type", "is deleted", name=turn.form["name"])


@pages.post(f"{PATH}/labels")
async def add_label(turn: Turn) -> Answer:
    return await _done(turn, "create_label", "is added", **turn.form.given("name", "colour"))


@pages.post(f"{PATH}/labels/{{id}}")
async def change_label(turn: Turn) -> Answer:
    return await _done(
        turn,
        "update_label",
        "is changed",
        id=turn.values["id"],
        **turn.form.given("name", "colour"),
    )


@pages.post(f"{PATH}/labels/{{id}}/delete")
async def delete_label(turn: Turn) -> Answer:
    """Off all items that have it, too: the page says on how many it is."""
    return await _done(turn, "delete_label", "is deleted", id=turn.values["id"], force=True)


async def _done(turn: Turn, operation: str, notice: str, **arguments: object) -> Answer:
    try:
        result = await turn.do(operation, **arguments)
    except ServiceError as error:
        if not turn.who.is_administrator:
            raise
        return await _settings(turn, error)
    name = getattr(result, "name", None) or result.deleted
    return turn.go(PATH, f"{name} {notice}.")


async def _settings(turn: Turn, error: ServiceError | None = None) -> Answer:
    return await turn.page(
        "settings/settings.html",
        status=200 if error is None else error.kind.status,
        requirement_types=await turn.do("list_requirement_types"),
        relationship_types=await turn.do("list_relationship_types"),
        labels=await turn.do("list_labels", limit=PAGE, **turn.query.given("cursor")),
        error=error,
    )
