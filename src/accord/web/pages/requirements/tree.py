"""The tree of requirements: the whole page, and partials with the rows below an item.

The query lists the expanded items (`?open=EP-001,US-004`); without such a query, a cookie lists
them. A script updates the cookie, so that the tree stays the same from page to page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET, Struct

from accord.hub.domain.rules import parse_reference
from accord.hub.entities import HAVE_ASSIGNEES, UNASSIGNED, one_or_list
from accord.hub.operations.hierarchy import Branch, OpenBranch
from accord.operations.choices import equivalent
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

ROOT: Final = "/requirements"
OPEN_COOKIE: Final = "accord_open"
MAX_OPEN: Final = 60
"""The most open items of a tree; opening one more closes the one opened first."""
ROWS: Final = 50
"""The most rows of one parent in a response."""
STATUSES: Final = ("Backlog", "Draft", "In Progress", "Done", "Cancelled", "Active", "Obsolete")
MAX_PEOPLE: Final = 100
"""The most usernames in the menu of assignees."""

pages: Final = Pages()


class Tree(Struct, frozen=True, kw_only=True):
    """The visible part of the tree, and the targets of its links."""

    items: list[OpenBranch]
    next_cursor: str | None = None
    total: int = 0
    path: list[Branch] = []
    """The ancestors of the selected item, and the item itself."""
    open: tuple[str, ...] = ()
    base: str = ROOT
    """The path of the page that shows the tree."""
    filters: dict[str, list[str]] = {}
    """The filter values of status and assignee; an item matches any value of a field."""
    people: list[str] = []
    is_selecting: bool = False
    ticked: frozenset[str] = frozenset()
    may_write: bool = False
    part_of: str = ""
    """If only the rows below one item are shown, the reference id of this item; a space if only the
    epics are shown; empty for the whole tree."""

    @property
    def selected(self) -> str:
        return self.path[-1].reference_id if self.path else ""

    @property
    def filter_words(self) -> list[str]:
        """The values of all filters, in words."""
        values = [each for some in self.filters.values() for each in some]
        return ["Nobody" if each.lower() == UNASSIGNED else each for each in values]

    def is_selected(self, row: Branch) -> bool:
        return row.reference_id == self.selected

    def is_aside(self, row: Branch) -> bool:
        """Return true if a row does not match the filters, but leads to rows that do."""
        statuses = {equivalent(each, STATUSES) for each in self.filters.get("status", ())}
        people = {each.lower() for each in self.filters.get("assignee", ())}
        nobody = UNASSIGNED if row.kind in HAVE_ASSIGNEES else ""
        return (bool(statuses) and row.status not in statuses) or (
            bool(people) and (row.assignee or nobody).lower() not in people
        )

    def toggle(self, row: Branch, *, is_open: bool) -> str:
        """Return the path of the tree with the item of a row opened or closed."""
        name = row.reference_id
        base = self.base
        if self.part_of:  # the whole tree may not show this row
            return f"{ROOT}/children/{name}"
        if is_open:
            opened = [each for each in self.open if each != name]
            if any(each.reference_id == name for each in self.path):
                base = ROOT  # ancestors of the selected item are always open on its page
        else:
            opened = [*self.open, name]
        return f"{base}?{self._query(open=','.join(opened))}#row-{name}"

    def more(self, parent: Branch | None, cursor: str) -> str:
        """Return the path that loads the next rows below an item, or the next epics."""
        below = "" if parent is None else f"/{parent.reference_id}"
        return f"{ROOT}/children{below}?{self._query(cursor=cursor)}"

    def back(self) -> str:
        """Return the path of the same tree with the checkboxes switched off."""
        query = self._query(open=",".join(self.open))
        return f"{self.base}?{query}" if query else self.base

    def select(self) -> str:
        """Return the path of the same tree with the checkboxes toggled."""
        opened = ",".join(self.open)
        return f"{self.base}?{self._query(open=opened, select='' if self.is_selecting else '1')}"

    def _query(self, **words: str) -> str:
        parameters = {**{name: value for name, value in words.items() if value}, **self.filters}
        return urlencode(parameters, safe=",", doseq=True)


@pages.get(ROOT)
async def tree_page(request: PageRequest) -> PageResponse:
    words = request.query["q"].strip()
    if words:
        query = {"q": words, **_filters(request)}
        return request.go(f"/search?{urlencode(query, doseq=True)}")
    return await request.page("requirements/split.html", **await tree_context(request, None))


@pages.get(f"{ROOT}/children")
async def epics(request: PageRequest) -> PageResponse:
    return await _part(request, None)


@pages.get(f"{ROOT}/children/{{id}}")
async def children(request: PageRequest) -> PageResponse:
    return await _part(request, request.values["id"])


async def tree_context(
    request: PageRequest,
    selected: str | None,
    *,
    ticked: Iterable[str] = (),
    base: str | None = None,
) -> dict[str, Any]:
    """Return the values for the template `requirements/split.html`.

    The tree is open down to the item `selected`.
    """
    filters = _filters(request)
    opened = open_items(request)
    unfold = bool(filters) and "open" not in request.query
    outline = await request.run(
        "get_outline",
        open=[] if unfold else list(opened),
        unfold=unfold,
        selected=selected or UNSET,
        limit=ROWS,
        **{name: one_or_list(values) for name, values in filters.items()},
    )
    boxes = frozenset(ticked)
    tree = Tree(
        items=outline.items,
        next_cursor=outline.next_cursor,
        total=outline.total,
        path=outline.path,
        open=tuple(_open_references(outline.items)) if unfold else opened,
        base=base or request.http.path,
        filters=filters,
        people=await _people(request),
        is_selecting=bool(boxes) or request.query["select"] == "1",
        ticked=boxes,
        may_write=request.user.may("write"),
    )
    return {"tree": tree, "section": ROOT, "statuses": STATUSES}


async def row_context(request: PageRequest, id: str) -> dict[str, Any]:
    """Return the values for the template `requirements/_row.html`, to replace one row.

    `row` is None for an item that is not in the tree.
    """
    path = (await request.run("get_outline", selected=id, limit=1)).path
    row = path[-1] if path else None
    tree = Tree(items=[], path=path, open=open_items(request), may_write=request.user.may("write"))
    return {"row": row, "tree": tree}


def open_items(request: PageRequest) -> tuple[str, ...]:
    """Return the reference ids of the open items, from the query or else the cookie."""
    text = (
        request.query["open"] if "open" in request.query else request.cookies.get(OPEN_COOKIE, "")
    )
    names = (parse_reference(each) for each in text[:4000].split(","))
    return tuple({str(each): None for each in names if each is not None})[-MAX_OPEN:]


def _open_references(branches: list[OpenBranch]) -> Iterator[str]:
    for each in branches:
        if each.children is not None:
            yield each.reference_id
            yield from _open_references(each.children)


async def _part(request: PageRequest, id: str | None) -> PageResponse:
    """Show the rows below the item `id`, as a partial or as a page.

    If `id` is None, show all epics.
    """
    filters = _filters(request)
    page = await request.run(
        "list_children",
        id=UNSET if id is None else id,
        limit=ROWS if request.is_partial else 2 * ROWS,
        cursor=request.query["cursor"] or UNSET,
        **{name: one_or_list(values) for name, values in filters.items()},
    )
    path = [] if id is None else (await request.run("get_outline", selected=id, limit=1)).path
    tree = Tree(
        items=[OpenBranch(**_fields(each)) for each in page.items],
        next_cursor=page.next_cursor,
        total=page.total,
        path=path,
        filters=filters,
        people=[] if request.is_partial else await _people(request),
        may_write=request.user.may("write"),
        part_of=path[-1].reference_id if path else " ",
    )
    context: dict[str, Any] = {"tree": tree, "section": ROOT, "statuses": STATUSES}
    context["parent"] = path[-1] if path else None
    if request.is_partial:
        return request.piece("requirements/_part.html", **context)
    return await request.page("requirements/split.html", **context)


def _filters(request: PageRequest) -> dict[str, list[str]]:
    values_by_name = {name: request.query.every(name) for name in ("status", "assignee")}
    filters = {
        name: list(dict.fromkeys(filter(None, values))) for name, values in values_by_name.items()
    }
    return {name: values for name, values in filters.items() if values}


async def _people(request: PageRequest) -> list[str]:
    page = await request.run("list_people", limit=MAX_PEOPLE)
    return [each.username for each in page.items]


def _fields(branch: Branch) -> dict[str, Any]:
    return {name: getattr(branch, name) for name in branch.__struct_fields__}
