"""Presentation of item rows: entities with the requested fields, and their pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import UNSET

from accord.hub.domain.rules import Kind
from accord.hub.domain.text import fold, no_such
from accord.hub.entities import (
    UNASSIGNED,
    Detail,
    Entity,
    Page,
    Relationship,
    each_of,
)
from accord.hub.storage import items, lists, reference_data
from accord.hub.storage.items import ItemRow, epics_of_steering, labels_of
from accord.hub.storage.lists import Sort
from accord.hub.storage.reference_data import find_requirement_type
from accord.hub.storage.relationships import LinkRow
from accord.operations.context import Changed, Database, OperationContext
from accord.operations.errors import InvalidError

E = TypeVar("E", bound=Entity)

LONG_TEXTS: Final = ("description", "content")
"""Fields that concise answers omit."""
ALWAYS: Final = frozenset({"id", "reference_id", "version"})
_OF_CHANGES: Final = frozenset(Changed.__struct_fields__)
SUMMARY_CHARACTERS: Final = 120


async def entities(
    db: Database,
    rows: Sequence[ItemRow],
    kind: type[E],
    *,
    detail: Detail = "full",
    fields: Sequence[str] | None = None,
) -> list[E]:
    """Return rows of one kind as entities of the type `kind`.

    Raises InvalidError for unknown `fields`.
    """
    names = _field_names(kind, detail, fields)
    labelled = [row.id for row in rows if row.has_labels]
    labels = await labels_of(db, labelled) if "labels" in names else {}
    ids = [row.id for row in rows]
    epics = await epics_of_steering(db, ids) if "epics" in names else {}
    made = []
    for row in rows:
        values = _FIELDS[row.kind](row)
        values["labels"] = labels.get(row.id, [])
        values["epics"] = epics.get(row.id, UNSET)
        made.append(kind(**{name: values[name] for name in names}))
    return made


async def entity(
    db: Database,
    row: ItemRow,
    kind: type[E],
    *,
    detail: Detail = "full",
    fields: Sequence[str] | None = None,
) -> E:
    """Return a single row as an entity; see `entities`."""
    return (await entities(db, [row], kind, detail=detail, fields=fields))[0]


def new_entity(row: ItemRow, kind: type[E]) -> E:
    """Return a new item as an entity; its labels are empty without being read."""
    values = {**_FIELDS[row.kind](row), "labels": []}
    return kind(**{name: values[name] for name in _field_names(kind, "full", None)})


def heading(row: ItemRow) -> str:
    """Return the title of an item, or the beginning of its description."""
    return row.title or summary(row.description)


def summary(text: str) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(text[: SUMMARY_CHARACTERS * 4].split())
    return line if len(line) <= SUMMARY_CHARACTERS else f"{line[: SUMMARY_CHARACTERS - 1]}…"


def _field_names(kind: type[Entity], detail: Detail, fields: Sequence[str] | None) -> list[str]:
    known = [name for name in kind.__struct_fields__ if name not in _OF_CHANGES]
    if fields is None:
        return [name for name in known if detail == "full" or name not in LONG_TEXTS]
    for name in fields:
        if name not in known:
            raise InvalidError("fields", no_such("field", name, known), valid=known)
    return [name for name in known if name in ALWAYS or name in fields]


def _of_all(row: ItemRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "reference_id": row.reference_id,
        "version": row.version,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "title": row.title,
        "description": row.description,
        "creator": row.creator,
    }


def _of_work(row: ItemRow) -> dict[str, Any]:
    return {
        **_of_all(row),
        "status": row.status,
        "priority": row.priority,
        "assignee": row.assignee,
    }


def _story(row: ItemRow) -> dict[str, Any]:
    return {
        **_of_work(row),
        "epic_id": row.parent_id,
        "epic_reference_id": row.parent_reference_id,
    }


def _criteria(row: ItemRow) -> dict[str, Any]:
    return {
        **_of_all(row),
        "author": row.creator,
        "summary": summary(row.description),
        "user_story_id": row.parent_id,
        "user_story_reference_id": row.parent_reference_id,
    }


def _requirement(row: ItemRow) -> dict[str, Any]:
    return {
        **_of_work(row),
        "type": row.type,
        "user_story_id": row.parent_id,
        "user_story_reference_id": row.parent_reference_id,
        "acceptance_criteria_id": row.criteria_id,
        "acceptance_criteria_reference_id": row.criteria_reference_id,
    }


def _prompt(row: ItemRow) -> dict[str, Any]:
    return {
        **_of_all(row),
        "name": row.name,
        "content": row.content,
        "role": row.role,
        "active": bool(row.active),
    }


_FIELDS: Final[dict[Kind, Callable[[ItemRow], dict[str, Any]]]] = {
    "epic": _of_work,
    "user_story": _story,
    "acceptance_criteria": _criteria,
    "requirement": _requirement,
    "steering_document": _of_all,
    "prompt": _prompt,
}

T = TypeVar("T")

_PARENTS: Final[dict[str, tuple[str, Kind]]] = {
    "epic_id": ("epic_id", "epic"),
    "user_story_id": ("parent_id", "user_story"),
    "acceptance_criteria_id": ("criteria_id", "acceptance_criteria"),
}
"""The filter condition and the kind of the parent, by the argument that names the parent."""
_CONDITIONS: Final = {"creator": "creator_id", "assignee": "assignee_id"}
"""The name of the filter condition, by argument, where the two names differ."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?Z)?", re.ASCII)


async def page_of(
    work: OperationContext,
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
    """Return a page of the items that match `where`.

    `where` has the arguments that callers use; None means no condition. Without `detail`, MCP
    clients get concise items, because models pay for each token that they read; all other callers
    get full items. Raises ServiceError if a filter, a field name or the cursor is invalid.
    """
    if detail is None:
        detail = "concise" if work.caller.face == "mcp" else "full"
    conditions = await _conditions(work.db, kind, where)
    if sort is None:
        sort = "position" if "parent_id" in conditions else "reference_id"
    found = await lists.list_items(
        work.db,
        lists.ItemFilter(kind=kind, where=conditions, sort=sort, limit=limit, cursor=cursor),
    )
    shown = await entities(work.db, found.items, entity, detail=detail, fields=fields)
    return Page(
        items=shown, next_cursor=found.next_cursor, has_more=found.has_more, total=found.total
    )


async def _conditions(db: Database, kind: Kind, where: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments of a caller to the filter conditions of the storage."""
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
        else:
            condition = _CONDITIONS.get(name, name)
            found[condition] = await _condition_value(db, name, value)
    return found


async def _condition_value(db: Database, name: str, value: Any) -> Any:
    """Return the stored form of the value or values of a filter argument."""
    match name:
        case "creator":
            found = [await _person_id(db, each, name) for each in each_of(value)]
        case "assignee":
            found = [await assignee_id(db, each) for each in each_of(value)]
        case "type":
            found = [await find_requirement_type(db, each) for each in each_of(value)]
        case "label":
            found = [fold(each) for each in each_of(value)]
        case "updated_since":
            return _time(value)
        case _:
            return one_or_several(value) if isinstance(value, list) else value
    return one_or_several(found)


def one_or_several(values: Sequence[T]) -> T | tuple[T, ...]:
    """Return distinct values as a sorted tuple, but a single value without tuple.

    The values are sorted so that a cursor stays valid if a caller changes their order.
    """
    found = sorted(set(values), key=str)
    return found[0] if len(found) == 1 else tuple(found)


async def assignee_id(db: Database, name: str) -> str:
    """Return the id of a person, or `NO_ASSIGNEE` for `unassigned`."""
    if name.lower() == UNASSIGNED:
        return lists.NO_ASSIGNEE
    return await _person_id(db, name, "assignee")


async def _person_id(db: Database, name: str, field: str) -> str:
    return (await reference_data.find_person(db, name, field, also_inactive=True)).id


def _time(text: str) -> str:
    """Convert a date or time in UTC to the form in which times are stored."""
    if _TIME.fullmatch(text) is None:
        raise InvalidError("updated_since", "must be a date or time such as 2026-11-15T09:30:00Z")
    date, _, rest = text.removesuffix("Z").partition("T")
    clock, _, fraction = (rest or "00:00:00").partition(".")
    return f"{date}T{clock}.{fraction:0<6}Z"


def link_entity(row: LinkRow) -> Relationship:
    """Return a relationship as callers see it."""
    changed = row.changed
    is_confirmed = row.confirmed_at is not None
    return Relationship(
        id=row.id,
        source_id=row.source_id,
        source_reference_id=row.source_reference_id,
        source_title=row.source_title or summary(row.source_description),
        source_status=row.source_status,
        target_id=row.target_id,
        target_reference_id=row.target_reference_id,
        target_title=row.target_title or summary(row.target_description),
        target_status=row.target_status,
        type=row.type,
        inverse=row.inverse,
        creator=row.creator,
        created_at=row.created_at,
        suspect=bool(changed),
        changed=list(changed) if changed else UNSET,
        confirmed_by=row.confirmer if row.confirmer is not None else UNSET,
        confirmed_at=row.confirmed_at if row.confirmed_at is not None else UNSET,
        confirmed_reason=row.confirmed_reason if is_confirmed else UNSET,
    )
