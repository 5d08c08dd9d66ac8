"""Rows as the entities that callers see, and as much of them as was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import UNSET

from accord.hub.domain.choices import no_such
from accord.hub.domain.kinds import Kind
from accord.hub.entities import (
    AcceptanceCriteria,
    Detail,
    Entity,
    Epic,
    Prompt,
    Requirement,
    SteeringDocument,
    UserStory,
)
from accord.hub.storage.items import ItemRow, epics_of_steering, labels_of
from accord.operations.errors import InvalidError
from accord.operations.work import Changed, Database

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
    wanted = _wanted(kind, detail, fields)
    labelled = [row.id for row in rows if row.has_labels]
    labels = await labels_of(db, labelled) if "labels" in wanted else {}
    ids = [row.id for row in rows]
    epics = await epics_of_steering(db, ids) if "epics" in wanted else {}
    made = []
    for row in rows:
        values = _FIELDS[row.kind](row)
        values["labels"] = labels.get(row.id, [])
        values["epics"] = epics.get(row.id, UNSET)
        made.append(kind(**{name: values[name] for name in wanted}))
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
    """Return an item that was just created, without looking for labels."""
    values = {**_FIELDS[row.kind](row), "labels": []}
    return kind(**{name: values[name] for name in _wanted(kind, "full", None)})


async def item_entity(db: Database, row: ItemRow, *, detail: Detail = "full") -> Entity:
    """Return an item of any kind as an entity."""
    return await entity(db, row, ENTITIES[row.kind], detail=detail)


def heading(row: ItemRow) -> str:
    """Return the title of an item, or the beginning of its description."""
    return row.title or summary(row.description)


def summary(text: str) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(text[: SUMMARY_CHARACTERS * 4].split())
    return line if len(line) <= SUMMARY_CHARACTERS else f"{line[: SUMMARY_CHARACTERS - 1]}…"


def _wanted(kind: type[Entity], detail: Detail, fields: Sequence[str] | None) -> list[str]:
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


ENTITIES: Final[dict[Kind, type[Entity]]] = {
    "epic": Epic,
    "user_story": UserStory,
    "acceptance_criteria": AcceptanceCriteria,
    "requirement": Requirement,
    "steering_document": SteeringDocument,
    "prompt": Prompt,
}

_FIELDS: Final[dict[Kind, Callable[[ItemRow], dict[str, Any]]]] = {
    "epic": _of_work,
    "user_story": _story,
    "acceptance_criteria": _criteria,
    "requirement": _requirement,
    "steering_document": _of_all,
    "prompt": _prompt,
}
