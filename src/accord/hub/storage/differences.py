"""Differences between two states of a row, as callers see them: with names in place of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct

from accord.hub.domain.text import FieldDifference, differences
from accord.hub.entities import Difference
from accord.hub.storage import rows
from accord.operations.context import Database

HIDDEN_FIELDS: Final = frozenset(
    {
        *("id", "kind", "number", "reference_id", "name_key", "created_at", "updated_at"),
        *("version", "said_version", "source_version", "target_version", "position"),
    }
)
"""Fields that follow from a change or identify its subject; they are not shown as differences."""

PARENT_FIELD: Final[dict[str, str]] = {
    "user_story": "epic_id",
    "acceptance_criteria": "user_story_id",
    "requirement": "user_story_id",
}
"""By kind: the argument that names the parent."""

_SHOWN_AS: Final = {
    "creator_id": "creator",
    "assignee_id": "assignee",
    "author_id": "author",
    "owner_id": "owner",
    "criteria_id": "acceptance_criteria_id",
    "label_id": "label",
}
_NAMED_IN: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("creator_id", "assignee_id", "author_id", "owner_id", "resolved_by", "confirmed_by"),
        ("users", "username"),
    ),
    **dict.fromkeys(
        ("parent_id", "criteria_id", "source_id", "target_id", "item_id", "steering_id", "epic_id"),
        ("items", "reference_id"),
    ),
    "label_id": ("labels", "name"),
}
"""By column: the table and column with the name of the row it refers to."""


class Pair(Struct, frozen=True):
    """Two states of a row; None means that the row did not exist."""

    kind: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


async def named_differences(db: Database, pairs: Sequence[Pair]) -> list[list[Difference]]:
    """Return the differences of each pair, with names in place of ids."""
    found = [
        [
            each
            for each in differences(pair.before or {}, pair.after or {}, HIDDEN_FIELDS)
            if each.before not in (None, "") or each.after not in (None, "")
        ]
        for pair in pairs
    ]
    names = await _names(db, (each for some in found for each in some))
    return [
        [_named(pair.kind, each, names) for each in some]
        for pair, some in zip(pairs, found, strict=True)
    ]


def _named(kind: str, difference: FieldDifference, names: Mapping[str, str]) -> Difference:
    field = difference.field
    name = PARENT_FIELD.get(kind, field) if field == "parent_id" else _SHOWN_AS.get(field, field)
    diff = difference.diff
    if diff is not None:
        return Difference(field=name, diff=diff)
    before, after = difference.before, difference.after
    if field in _NAMED_IN:
        before, after = names.get(before, before), names.get(after, after)
    return Difference(
        field=name,
        before=UNSET if before is None and field not in _NAMED_IN else before,
        after=UNSET if after is None and field not in _NAMED_IN else after,
    )


async def _names(db: Database, found: Iterable[FieldDifference]) -> dict[str, str]:
    """Return the names for the ids in these differences."""
    wanted: dict[tuple[str, str], dict[str, None]] = {}
    for each in found:
        where = _NAMED_IN.get(each.field)
        if where is not None:
            ids = wanted.setdefault(where, {})
            ids.update((id, None) for id in (each.before, each.after) if id)
    names: dict[str, str] = {}
    for (table, column), ids in wanted.items():
        for some in rows.chunks(list(ids)):
            statement = (
                f"SELECT id, {column} AS name FROM {table} WHERE id IN ({rows.places(len(some))})"
            )
            names.update({row["id"]: row["name"] for row in await db.fetch(statement, *some)})
    return names
