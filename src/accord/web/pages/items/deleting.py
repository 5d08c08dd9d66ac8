"""An item is deleted: what stands in the way, and what would go with it, is told before."""

from __future__ import annotations

from typing import Final

from accord.operations.errors import ConflictError
from accord.web.answers import Answer
from accord.web.pages.items.item import Item, find_item
from accord.web.pages.items.showing import show
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.get("/items/{id}/delete")
async def ask(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    try:
        await _delete(turn, item, force=False, dry_run=True)
    except ConflictError as error:
        return await _question(turn, item, error)
    return await _question(turn, item, None)


@pages.post("/items/{id}/delete")
async def delete(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    try:
        await _delete(turn, item, force=turn.form["force"] == "yes", dry_run=False)
    except ConflictError as error:
        return await _question(turn, item, error, status=error.kind.status)
    back = f"/items/{item.parent}" if item.parent else _list_of(item)
    return turn.go(back, f"{item.reference_id} was deleted.")


def _list_of(item: Item) -> str:
    is_steering = item.kind.kind == "steering_document"
    return "/steering-documents" if is_steering else "/requirements"


async def _delete(turn: Turn, item: Item, *, force: bool, dry_run: bool) -> None:
    operation = f"delete_{item.kind.kind}"
    await turn.do(operation, id=item.reference_id, force=force, dry_run=dry_run)


async def _question(
    turn: Turn, item: Item, error: ConflictError | None, *, status: int = 200
) -> Answer:
    data = {} if error is None else error.data
    return await show(
        turn,
        "_delete",
        status=status,
        item=item,
        error=error,
        children=data.get("children", []),
        links=data.get("links", []),
        total=data.get("total", 0),
    )
