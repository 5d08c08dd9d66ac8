"""Parts of texts: what need not be sent as a whole cannot be lost as a whole."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta

from accord.hub import lifecycle
from accord.hub.domain.diffs import unified
from accord.hub.entities import Id, Text, Version
from accord.hub.storage import items
from accord.hub.storage.items import COLUMNS, ItemRow
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Changed, Work

TextField: TypeAlias = Literal["title", "description", "content"]
Part: TypeAlias = Annotated[str, Meta(min_length=1, max_length=50_000)]

LONGEST: Final[dict[str, int]] = {"title": 500, "description": 50_000, "content": 50_000}

operations: Final = Registry()


class TextChange(Changed, kw_only=True):
    """What became of a text."""

    id: str
    reference_id: str
    version: int
    field: str
    diff: str
    """A unified diff; empty where nothing changed."""


@operations.write(rest=Rest("POST", "/items/{id}/edit-text"), tag="texts")
async def edit_text(
    work: Work,
    *,
    id: Id,
    old: Part,
    new: Text,
    field: TextField = "description",
    expected_version: Version | None = None,
) -> TextChange:
    """Replace a part of a text, which must occur in it exactly once."""
    row = await _editable(work, id, field)
    before: str = getattr(row, field)
    count = _occurrences(before, old)
    if count != 1:
        how_often = f"{count:,} times: give more of what is around it" if count else "not at all"
        raise InvalidError("old", f"occurs {how_often}", occurrences=count)
    return await _write(work, row, field, before.replace(old, new), expected_version)


@operations.write(rest=Rest("POST", "/items/{id}/append-text"), tag="texts")
async def append_text(
    work: Work,
    *,
    id: Id,
    text: Part,
    field: TextField = "description",
    expected_version: Version | None = None,
) -> TextChange:
    """Add to the end of a text, on a new line."""
    row = await _editable(work, id, field)
    before: str = getattr(row, field)
    between = "" if not before or before.endswith("\n") else " " if field == "title" else "\n"
    return await _write(work, row, field, before + between + text, expected_version)


async def _editable(work: Work, id: str, field: str) -> ItemRow:
    row = await items.find(work.db, id)
    if row.kind == "prompt":
        work.caller.require("admin", "to change a prompt")
    if field not in COLUMNS[row.kind]:
        valid = [name for name in LONGEST if name in COLUMNS[row.kind]]
        raise InvalidError("field", f"{row.reference_id} has only {', '.join(valid)}", valid=valid)
    return row


async def _write(
    work: Work, row: ItemRow, field: str, after: str, expected_version: int | None
) -> TextChange:
    longest = LONGEST[field]
    if len(after) > longest:
        raise InvalidError(
            field, f"would have {len(after):,} characters, over the limit of {longest:,}"
        )
    if not after and field != "description":
        raise InvalidError(field, "would be empty")
    changed = await lifecycle.update(work, row.kind, row.id, expected_version, **{field: after})
    return TextChange(
        id=row.id,
        reference_id=row.reference_id,
        version=changed.version,
        field=field,
        diff=unified(getattr(row, field), after),
    )


def _occurrences(text: str, part: str) -> int:
    """Count the occurrences of `part` in `text`, overlapping ones included."""
    count, at = 0, text.find(part)
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count
