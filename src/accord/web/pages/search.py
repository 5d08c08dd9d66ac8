"""Finding things: words and filters in the address, so that a search can be kept and sent on."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from accord.hub.domain.kinds import parse_reference
from accord.hub.entities import UNASSIGNED, each_of, one_or_list
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.findings import KINDS, finding, href_of
from accord.web.forms import Words
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

FILTERS: Final = ("kind", "status", "priority", "type", "assignee", "label", "epic")
"""As they stand in the address."""
STATUSES: Final = ("Backlog", "Draft", "In Progress", "Done", "Cancelled", "Active", "Obsolete")
PRIORITIES: Final = (("1", "1 Critical"), ("2", "2 High"), ("3", "3 Medium"), ("4", "4 Low"))
ITEMS: Final = [kind for kind in KINDS if kind != "comment"]
EVERYTHING: Final = "*"
SHOWN: Final = 25
MAX_CHOICES: Final = 100
"""How many names a filter suggests; others can be typed."""
MAX_VIEWS: Final = 50


class Sought(Struct, frozen=True):
    """What somebody looks for."""

    query: str
    filters: dict[str, list[str]]
    """The values of each field, sorted; items have any of them."""

    @property
    def is_empty(self) -> bool:
        return not self.query and not self.filters

    def arguments(self) -> dict[str, Any]:
        """For `search_global`."""
        given = self._values()
        if "kind" in given:
            given["kinds"] = self.filters["kind"]
            del given["kind"]
        elif self.is_empty:
            given["kinds"] = ITEMS
        return {"query": self.query or EVERYTHING, **given}

    def view(self) -> dict[str, Any]:
        """The filter of a saved view."""
        return {**({"query": self.query} if self.query else {}), **self._values()}

    def path(self, **more: str) -> str:
        """Where this is found."""
        words = {**({"q": self.query} if self.query else {}), **self.filters, **more}
        return f"/search?{urlencode(words, doseq=True)}" if words else "/search"

    def _values(self) -> dict[str, Any]:
        """The filters as operations name them, with a single value as itself."""
        return {
            "epic_id" if name == "epic" else name: one_or_list(values)
            for name, values in self.filters.items()
        }


def sought(words: Words) -> Sought:
    """What the words of a query, or of a form, look for."""
    return _sought(words["q"], {name: words.every(name) for name in FILTERS})


def sought_by_view(filter: Any) -> Sought:
    """What a saved view looks for."""
    given = {name: getattr(filter, "epic_id" if name == "epic" else name) for name in FILTERS}
    return _sought(filter.query or "", {name: each_of(value) for name, value in given.items()})


def _sought(query: str, given: dict[str, list[Any]]) -> Sought:
    told = {
        name: sorted({text for each in values if (text := str(each).strip())})
        for name, values in given.items()
    }
    told["epic"] = told["epic"][:1]
    return Sought(query.strip(), {name: values for name, values in told.items() if values})


@pages.get("/search")
async def search(turn: Turn) -> Answer:
    asked = sought(turn.query)
    cursor = turn.query["cursor"] or None
    try:
        found = await turn.do("search_global", **asked.arguments(), limit=SHOWN, cursor=cursor)
    except ServiceError as error:
        if turn.is_partial and cursor:
            raise
        return await _page(turn, asked, None, error)
    exact = _exact(asked, found) if not cursor and not turn.is_partial else ""
    return turn.go(exact) if exact else await _page(turn, asked, found)


def _exact(asked: Sought, found: Any) -> str:
    """Where the one thing is whose id was typed."""
    reference = parse_reference(asked.query) if not asked.filters else None
    for each in found.items[:1] if reference else ():
        if each.reference_id == str(reference) and each.kind != "comment":
            return href_of(each.kind, each.reference_id)
    return ""


async def _page(turn: Turn, asked: Sought, found: Any, error: ServiceError | None = None) -> Answer:
    status = 200 if error is None else error.kind.status
    view = await _view(turn)
    shown = {
        "view": view,
        "is_changed": view is not None and sought_by_view(view.filter) != asked,
        "left_out": _left_out(view),
        "asked": asked,
        "found": found,
        "findings": [finding(each) for each in found.items] if found else [],
        "is_first": not turn.query["cursor"],
        "error": error,
    }
    if turn.is_partial:
        piece = "search/_rows.html" if turn.query["cursor"] else "search/_found.html"
        # What was typed so far is where going back leads to.
        here = asked.path(**({"view": view.id} if view else {}))
        headers = b"" if turn.query["cursor"] else f"hx-push-url: {here}\r\n".encode()
        return turn.piece(piece, status=status, headers=headers, **shown)
    return await turn.page("search/page.html", status=status, **await _choices(turn), **shown)


async def _view(turn: Turn) -> Any:
    """The saved view that was opened; None where there is none."""
    try:
        return await turn.do("get_view", id=turn.query["view"]) if turn.query["view"] else None
    except ServiceError:  # it was deleted, or is not shared any more: the search is still there
        return None


def _left_out(view: Any) -> list[str]:
    """What a view asks for that a search cannot."""
    if view is None:
        return []
    asked = {"creator": view.filter.creator, "user story": view.filter.user_story_id}
    told = {name: " or ".join(each_of(value)) for name, value in asked.items()}
    return [f"{name} {value}" for name, value in told.items() if value]


async def _choices(turn: Turn) -> dict[str, Any]:
    """What filters offer."""
    views, types, labels, epics, people = await asyncio.gather(
        turn.do("list_views", limit=MAX_VIEWS),
        turn.do("list_requirement_types"),
        turn.do("list_labels", limit=MAX_CHOICES),
        turn.do("list_epics", limit=MAX_CHOICES, detail="concise"),
        turn.do("list_people", limit=MAX_CHOICES),
    )
    return {
        "views": views,
        "kinds": tuple(KINDS.items()),
        "statuses": STATUSES,
        "priorities": PRIORITIES,
        "types": types,
        "labels": labels,
        "epics": epics,
        "people": [
            (UNASSIGNED, "Nobody"),
            (turn.who.username, f"{turn.who.username} (me)"),
            *(each.username for each in people.items if each.username != turn.who.username),
        ],
    }
