"""Rules of the linter are put aside for an item, with a reason, and taken up again."""

from __future__ import annotations

from typing import Final

from accord.web.answers import Answer
from accord.web.pages.items.detail import done
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.post("/items/{id}/suppress")
async def suppress(turn: Turn) -> Answer:
    id, rule = turn.values["id"], turn.form["rule"]
    await turn.do("suppress_lint", id=id, rule=rule, reason=turn.form["reason"])
    return await done(turn, id, f"The linter leaves {rule} aside here.")


@pages.post("/items/{id}/unsuppress")
async def unsuppress(turn: Turn) -> Answer:
    id, rule = turn.values["id"], turn.form["rule"]
    await turn.do("unsuppress_lint", id=id, rule=rule)
    return await done(turn, id, f"The linter looks at {rule} again.")
