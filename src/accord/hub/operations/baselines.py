"""Operations on baselines: a named snapshot of everything, and comparisons."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from accord.hub.domain.rules import parse_reference
from accord.hub.domain.text import differences, fold
from accord.hub.entities import Cursor, Difference, Id, Limit, Page, Provenance
from accord.hub.lifecycle import check_line, check_text
from accord.hub.presentation import summary
from accord.hub.storage import baselines, items, provenance, rows
from accord.hub.storage.baselines import (
    CURRENT,
    BaselineRow,
    ChangeOf,
    ComparedRow,
    EntryRow,
)
from accord.operations.context import Changed, Effect, OperationContext
from accord.operations.errors import ConflictError, InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import map_page, page_of
from accord.operations.registry import Registry

operations: Final = Registry()

MAX_BASELINES: Final = 1000
FORMAT: Final = "accord-baseline-1"
"""The `format` member of an exported baseline."""

BaselineName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
EntryName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=300)]
Note: TypeAlias = Annotated[str, Meta(max_length=10_000)]


class Baseline(Changed, kw_only=True):
    id: str
    name: str
    description: str
    author: str
    provenance: Provenance | UnsetType = UNSET
    """The program that made it, unless a person did."""
    created_at: str
    epic_reference_id: str | None
    """The epic that it is about; None for everything."""
    entries: int
    """Items and links in it."""


class BaselineEntry(Struct, kw_only=True):
    """What one item or link said."""

    reference_id: str
    kind: str
    version: int
    content: dict[str, Any]


class BaselineDetail(Baseline, kw_only=True):
    items: list[BaselineEntry]
    next_cursor: str | None
    has_more: bool
    total: int


class BaselineFile(Struct, kw_only=True):
    """A baseline to keep elsewhere."""

    media_type: str
    file_name: str
    entries: int
    content: str


class BaselineDifference(Struct, kw_only=True):
    """How one item or link differs."""

    __schema_name__ = "Compared"

    reference_id: str
    kind: str
    title: str
    """What it says now, or said last, in one line; empty for links."""
    change: ChangeOf
    differences: list[Difference]


class Comparison(Page[BaselineDifference], kw_only=True):
    added: int
    removed: int
    changed: int


@operations.write(rest=Rest("POST", "/baselines", 201, "/baselines/{id}"), tag="baselines", cost=50)
async def create_baseline(
    work: OperationContext, *, name: BaselineName, description: Note = "", epic_id: Id | None = None
) -> Baseline:
    """Keep what everything says now, or everything in an epic, under a name. It never changes."""
    check_line("name", name)
    check_text("description", description)
    if fold(name) == CURRENT:
        raise InvalidError("name", f"{CURRENT!r} is what comparisons call the present")
    taken = await baselines.find_named(work.db, name)
    if taken is not None:
        raise ConflictError(f"there is a baseline {taken.name!r} already", baseline_id=taken.id)
    if await baselines.count(work.db) >= MAX_BASELINES:
        raise ConflictError(f"there are {MAX_BASELINES:,} baselines already")
    epic = None if epic_id is None else await items.find(work.db, epic_id, "epic")
    row = BaselineRow(
        id=work.new_id(),
        name=" ".join(name.split()),
        name_key=fold(name),
        description=description,
        author_id=work.caller.user_id,
        epic_id=epic.id if epic else None,
        created_at=work.now,
        author=work.caller.username,
        entries=0,
    )
    entries = await baselines.add(work.db, work.engine, row)
    work.record(
        Effect(
            action="created",
            kind="baseline",
            id=row.id,
            reference_id=row.name,
            after=row.stored(),
        )
    )
    return await _baseline_with_epic(work, msgspec.structs.replace(row, entries=entries))


@operations.read(rest=Rest("GET", "/baselines"), tag="baselines", snapshot=True)
async def list_baselines(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[Baseline]:
    """List baselines, the newest first."""
    query = rows.query_hash("baselines")
    before = None if cursor is None else tuple(rows.cursor_values(cursor, query, str, str))
    found = await baselines.newest(work.db, limit + 1, before)
    page = page_of(
        found,
        limit=limit,
        total=await baselines.count(work.db),
        key=lambda row: (query, row.created_at, row.id),
    )
    epics = await _epics(work, page.items)
    made = await provenance.of_creation(work.db, [row.id for row in page.items])
    return map_page(page, lambda row: _baseline(row, epics, made))


@operations.read(rest=Rest("GET", "/baselines/{id}"), tag="baselines", snapshot=True)
async def get_baseline(
    work: OperationContext, *, id: BaselineName, limit: Limit = 20, cursor: Cursor | None = None
) -> BaselineDetail:
    """Get a baseline, by name or id, and what is in it."""
    row = await baselines.find(work.db, id)
    query = rows.query_hash("baseline", row.id)
    (after,) = [0] if cursor is None else rows.cursor_values(cursor, query, int)
    found = await baselines.entries(work.db, row.id, after, limit + 1)
    page = page_of(found, limit=limit, total=row.entries, key=lambda entry: (query, entry.place))
    return BaselineDetail(
        **msgspec.structs.asdict(await _baseline_with_epic(work, row)),
        items=[_entry(entry) for entry in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


@operations.read(
    rest=Rest("GET", "/baselines/{id}/entries/{reference_id}"),
    tag="baselines",
    tool=False,
    snapshot=True,
)
async def get_baseline_entry(
    work: OperationContext, *, id: BaselineName, reference_id: EntryName
) -> BaselineEntry:
    """Get what one item or link said in a baseline."""
    row = await baselines.find(work.db, id)
    reference = parse_reference(reference_id)
    name = reference_id if reference is None else str(reference)
    return _entry(await baselines.entry(work.db, row, name))


@operations.read(
    rest=Rest("GET", "/baselines/{id}/export"),
    tag="baselines",
    tool=False,
    snapshot=True,
    cost=20,
)
async def export_baseline(work: OperationContext, *, id: BaselineName) -> BaselineFile:
    """Export a baseline as JSON: when and by whom it was made, and what everything in it said."""
    row = await baselines.find(work.db, id)
    fields = msgspec.structs.asdict(await _baseline_with_epic(work, row))
    head = {name: value for name, value in fields.items() if value is not UNSET}
    found = await baselines.entries(work.db, row.id, 0, row.entries)
    content = head | {"format": FORMAT, "entries": [_raw_entry(entry) for entry in found]}
    return BaselineFile(
        media_type="application/json",
        file_name=f"baseline-{row.created_at[:10]}.json",
        entries=len(found),
        content=msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n",
    )


@operations.read(
    rest=Rest("GET", "/baselines/{a}/compare"), tag="baselines", snapshot=True, cost=20
)
async def compare_baselines(
    work: OperationContext,
    *,
    a: BaselineName,
    b: BaselineName = CURRENT,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Comparison:
    """Tell what was added, removed and changed from baseline `a` to baseline `b`, or to now."""
    one = await baselines.find(work.db, a)
    other = None if fold(b) == CURRENT else await baselines.find(work.db, b)
    query = rows.query_hash("comparison", one.id, other.id if other else CURRENT)
    after = ("", 0, "")
    if cursor is not None:
        after = tuple(rows.cursor_values(cursor, query, str, int, str))
    found = await baselines.compared(work.db, work.engine, one, other, after, limit + 1)
    page = page_of(
        found.rows,
        limit=limit,
        total=found.added + found.removed + found.changed,
        key=lambda row: (query, row.kind, len(row.reference_id), row.reference_id),
    )
    return Comparison(
        items=[_compared(row) for row in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
        added=found.added,
        removed=found.removed,
        changed=found.changed,
    )


def _entry(row: EntryRow) -> BaselineEntry:
    content = msgspec.json.decode(row.content, type=dict[str, Any])
    return BaselineEntry(
        reference_id=row.reference_id,
        kind=row.kind,
        version=row.version,
        content={name: value for name, value in content.items() if value not in (None, "")},
    )


def _raw_entry(row: EntryRow) -> dict[str, Any]:
    return {
        "reference_id": row.reference_id,
        "kind": row.kind,
        "version": row.version,
        "content": msgspec.Raw(row.content.encode()),
    }


def _compared(row: ComparedRow) -> BaselineDifference:
    before, after = (
        {} if side is None else msgspec.json.decode(side, type=dict[str, Any])
        for side in (row.before, row.after)
    )
    return BaselineDifference(
        reference_id=row.reference_id,
        kind=row.kind,
        title=_title(after or before),
        change=row.change,
        differences=_differences(before, after) if row.change == "changed" else [],
    )


def _title(content: dict[str, Any]) -> str:
    return str(content.get("title") or summary(content.get("description") or ""))


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    """Return the differences; a unified diff replaces both values of long texts."""
    return [
        Difference(field=each.field, before=each.before, after=each.after)
        if each.diff is None
        else Difference(field=each.field, diff=each.diff)
        for each in differences(before, after)
    ]


async def _baseline_with_epic(work: OperationContext, row: BaselineRow) -> Baseline:
    made = await provenance.of_creation(work.db, [row.id])
    return _baseline(row, await _epics(work, [row]), made)


async def _epics(work: OperationContext, found: list[BaselineRow]) -> dict[str, str]:
    """Return the reference ids of the epics of baselines; deleted epics have none."""
    ids = sorted({row.epic_id for row in found if row.epic_id is not None})
    if not ids:
        return {}
    return {id: row.reference_id for id, row in (await items.by_ids(work.db, ids)).items()}


def _baseline(row: BaselineRow, epics: dict[str, str], made: dict[str, Provenance]) -> Baseline:
    return Baseline(
        id=row.id,
        name=row.name,
        description=row.description,
        author=row.author,
        provenance=made.get(row.id, UNSET),
        created_at=row.created_at,
        epic_reference_id=epics.get(row.epic_id, row.epic_id) if row.epic_id else None,
        entries=row.entries,
    )
