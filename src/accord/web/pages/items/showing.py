"""Pages of an item: a piece for scripts, beside the tree for everybody else."""

from __future__ import annotations

from typing import Any

from accord.web.answers import Answer
from accord.web.pages.requirements.tree import tree_context
from accord.web.turn import Turn


async def show(
    turn: Turn, piece: str, /, *, status: int = 200, headers: bytes = b"", **context: Any
) -> Answer:
    """A page with `items/<piece>.html` where the detail stands; `item` is in the context."""
    context["piece"] = f"items/{piece}.html"
    if turn.is_partial:
        # A form that comes back with what was typed goes where it was, whatever is wrong with it.
        return turn.piece("items/_detail.html", headers=headers, **context)
    item = context["item"]
    tree = await tree_context(turn, item.reference_id, base=item.path)
    return await turn.page("requirements/split.html", status=status, **(tree | context))
