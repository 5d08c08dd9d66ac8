"""How an item came to be what it is: redlines of each version, who, with what, and back again."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from accord.web.answers import Answer
from accord.web.pages.items.detail import done, entries_of, rights
from accord.web.pages.items.item import find_item
from accord.web.pages.items.showing import show
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

MAX_SHOWN: Final = 20


@pages.get("/items/{id}/history")
async def history(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    page = await turn.do(
        "history",
        id=item.reference_id,
        related=True,
        limit=MAX_SHOWN,
        cursor=turn.query["cursor"] or UNSET,
    )
    return await show(
        turn,
        "_history",
        item=item,
        page=page,
        entries=entries_of(turn, page.items, is_first=not turn.query["cursor"]),
        **rights(turn, item),
    )


@pages.get("/items/{id}/compare")
async def compare(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    asked = (turn.query["a"] or "1", turn.query["b"] or str(item.version))
    older, newer = sorted(asked, key=_order)
    compared = await turn.do("compare_versions", id=item.reference_id, a=older, b=newer)
    return await show(turn, "_compare", item=item, compared=compared)


@pages.post("/items/{id}/undo")
async def undo(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    await turn.do("undo", change_id=turn.form["change_id"])
    return await done(turn, item.reference_id, "The change was undone.")


@pages.post("/items/{id}/restore")
async def restore(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    version = turn.form["version"]
    await turn.do("restore_version", id=item.reference_id, version=version)
    return await done(turn, item.reference_id, f"Version {version} is restored.")


def _order(version: str) -> int:
    return int(version) if version.isdecimal() and len(version) < 10 else 0
