"""The command palette: places, things to do, and items, by what somebody types.

It is asked with every letter, so that it asks for few operations and no large ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from accord.operations.errors import ServiceError
from accord.web.answers import Answer, is_ours
from accord.web.commands import Command, actions, is_meant, matching, places
from accord.web.findings import finding
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

MAX_QUERY: Final = 200
MAX_EACH: Final = 6
"""How many of a group are shown once something was typed."""
MAX_NAMED: Final = 50
"""How many prompts and workflows are looked through."""


@pages.get("/palette")
async def palette(turn: Turn) -> Answer:
    query = turn.query["q"].strip()[:MAX_QUERY]
    at = turn.query["at"] if is_ours(turn.query["at"]) else "/"
    found, named = (
        await asyncio.gather(_items(turn, query), _named(turn, query)) if query else ([], [])
    )
    most = MAX_EACH if query else None
    to_do = matching([*actions(turn.who, at), *named], query)[:most]
    to_go = matching(places(turn.who), query)[:most]
    return turn.piece(
        "palette/_options.html",
        asked=query,
        items=[finding(each) for each in found],
        actions=to_do,
        places=to_go,
        order=_order(query, to_do, to_go),
    )


def _order(query: str, to_do: list[Command], to_go: list[Command]) -> list[str]:
    """Which group comes first: one that was meant by its name, else items."""
    if not query:
        return ["actions", "places"]
    meant = {
        name: any(is_meant(each, query) for each in some)
        for name, some in (("actions", to_do), ("places", to_go))
    }
    return sorted(["places", "items", "actions"], key=lambda name: not meant.get(name, False))


async def _items(turn: Turn, query: str) -> list[Any]:
    found = await turn.do("search_global", query=query, limit=MAX_EACH)
    return list(found.items)


async def _named(turn: Turn, query: str) -> list[Command]:
    """What can be done with things that have names."""
    found = await asyncio.gather(_runs(turn, query), _prompts(turn, query))
    return [command for some in found for command in some]


async def _runs(turn: Turn, query: str) -> Iterable[Command]:
    if not turn.who.may("run"):
        return []
    return [
        Command(
            label=f"Start {each.name}", href=f"/workflows/{each.name}#start", words="run workflow"
        )
        for each in await _listed(turn, "list_workflows")
        if each.active
    ]


async def _prompts(turn: Turn, query: str) -> Iterable[Command]:
    if not turn.who.is_administrator:
        return []
    return [
        Command(
            label=f"Activate the prompt {each.name}",
            post=f"/prompts/{each.reference_id}/activate",
            words=each.reference_id,
        )
        for each in await _listed(turn, "list_prompts", detail="concise")
        if not each.active
    ]


async def _listed(turn: Turn, operation: str, **arguments: Any) -> list[Any]:
    try:
        found = await turn.do(operation, limit=MAX_NAMED, **arguments)
    except ServiceError:  # who may not see them gets the rest
        return []
    return list(found.items)
