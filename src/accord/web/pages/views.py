"""Searches that are kept under a name: to open, share with everybody, change and delete."""

from __future__ import annotations

from typing import Final

from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.pages.search import Sought, sought, sought_by_view
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.post("/views")
async def save(turn: Turn) -> Answer:
    asked = sought(turn.form)
    name = turn.form["name"].strip()
    try:
        view = await turn.do(
            "create_view", name=name, filter=asked.view(), shared=turn.form["shared"] == "yes"
        )
    except ServiceError as error:
        return turn.go(asked.path(), f"Not saved: {error.message}")
    return turn.go(asked.path(view=view.id), f"Saved as {view.name}")


@pages.get("/views/{id}")
async def show(turn: Turn) -> Answer:
    view = await turn.do("get_view", id=turn.values["id"])
    return turn.go(sought_by_view(view.filter).path(view=view.id))


@pages.post("/views/{id}/filter")
async def change(turn: Turn) -> Answer:
    """Have a view show what was searched for last."""
    asked = sought(turn.form)
    view = await turn.do("update_view", id=turn.values["id"], filter=asked.view())
    return _back(turn, asked, view.id, f"{view.name} shows this now")


@pages.post("/views/{id}/shared")
async def share(turn: Turn) -> Answer:
    view = await turn.do("update_view", id=turn.values["id"], shared=turn.form["shared"] == "yes")
    told = "Everybody sees" if view.shared else "Only you see"
    return _back(turn, sought(turn.form), view.id, f"{told} {view.name} now")


@pages.post("/views/{id}/delete")
async def delete(turn: Turn) -> Answer:
    gone = await turn.do("delete_view", id=turn.values["id"])
    return turn.go(sought(turn.form).path(), f"Deleted the view {gone.deleted}")


def _back(turn: Turn, asked: Sought, id: str, notice: str) -> Answer:
    return turn.go(asked.path(view=id), notice)
