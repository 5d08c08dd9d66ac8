"""Lists of items, from what callers ask for to pages of entities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from accord.hub.domain.folding import fold
from accord.hub.domain.kinds import Kind
from accord.hub.entities import UNASSIGNED, Detail, Entity, Page, each_of
from accord.hub.lifecycle import find_type
from accord.hub.presentation import entities
from accord.hub.storage import items, lists, people
from accord.hub.storage.lists import Sort
from accord.operations.errors import InvalidError
from accord.operations.work import Database, Work

E = TypeVar("E", bound=Entity)
T = TypeVar("T")

_PARENTS: Final[dict[str, tuple[str, Kind]]] = {
    "epic_id": ("epic_id", "epic"),
    "user_story_id": ("parent_id", "user_story"),
    "acceptance_criteria_id": ("criteria_id", "acceptance_criteria"),
}
"""By argument: the condition, and the kind that it names."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?Z)?", re.ASCII)


async def page_of(
    work: Work,
    kind: Kind,
    entity: type[E],
    *,
    sort: Sort | None,
    limit: int,
    cursor: str | None,
    detail: Detail | None,
    fields: Sequence[str] | None,
    **where: Any,
) -> Page[E]:
    """Return a page of the items that match `where`. Raises ServiceError.

    `where` has the arguments that callers use; None means no condition. Without `detail`, programs
    get full items and models concise ones, because models pay for each token that they read.
    """
    if detail is None:
        detail = "concise" if work.caller.face == "mcp" else "full"
    conditions = await _conditions(work.db, kind, where)
    if sort is None:
        sort = "position" if "parent_id" in conditions else "reference_id"
    found = await lists.list_items(
        work.db,
        lists.Asked(kind=kind, where=conditions, sort=sort, limit=limit, cursor=cursor),
    )
    shown = await entities(work.db, found.items, entity, detail=detail, fields=fields)
    return Page(
        items=shown, next_cursor=found.next_cursor, has_more=found.has_more, total=found.total
    )


async def _conditions(db: Database, kind: Kind, where: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in where.items():
        if value is None:
            continue
        if name in _PARENTS:
            condition, parent = _PARENTS[name]
            if kind == "user_story":
                condition = "parent_id"
            elif kind == "steering_document":
                condition = "steers"
            found[condition] = (await items.find(db, value, parent)).id
        elif name == "creator":
            found["creator_id"] = one_or_several(
                [
                    (await people.find_person(db, each, name, also_inactive=True)).id
                    for each in each_of(value)
                ]
            )
        elif name == "assignee":
            found["assignee_id"] = one_or_several(
                [await assignee_id(db, each) for each in each_of(value)]
            )
        elif name == "type":
            found[name] = one_or_several([await find_type(db, each) for each in each_of(value)])
        elif name == "updated_since":
            found[name] = _time(value)
        elif name == "label":
            found[name] = one_or_several([fold(each) for each in each_of(value)])
        elif isinstance(value, list):
            found[name] = one_or_several(value)
        else:
            found[name] = value
    return found


def one_or_several(values: Sequence[T]) -> T | tuple[T, ...]:
    """Return distinct values, sorted, so a cursor fits any order and repetition."""
    found = sorted(set(values), key=str)
    return found[0] if len(found) == 1 else tuple(found)


async def assignee_id(db: Database, name: str) -> str:
    """Return the id of a person, or `NO_ASSIGNEE` for `unassigned`."""
    if name.lower() == UNASSIGNED:
        return lists.NOBODY
    return (await people.find_person(db, name, "assignee", also_inactive=True)).id


def _time(text: str) -> str:
    """Return a date or time in UTC in its stored form."""
    if _TIME.fullmatch(text) is None:
        raise InvalidError("updated_since", "must be a date or time such as 2026-11-15T09:30:00Z")
    date, _, rest = text.removesuffix("Z").partition("T")
    clock, _, fraction = (rest or "00:00:00").partition(".")
    return f"{date}T{clock}.{fraction:0<6}Z"
