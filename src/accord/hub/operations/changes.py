"""Operations on changes: history, undo, bulk writes, versions, the activity feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from accord.hub import lifecycle, undo as undoing
from accord.hub.bulk import StepResult, Steps, is_step, may_do, run_steps
from accord.hub.domain.rules import KINDS, parse_reference
from accord.hub.entities import (
    Cursor,
    Difference,
    Id,
    ItemComment,
    Limit,
    Page,
    Username,
    Version,
    VersionNumber,
)
from accord.hub.presentation import heading, summary
from accord.hub.storage import comments, items, reference_data, revisions, rows
from accord.hub.storage.revisions import ChangeRow, ChangeSubject, RevisionRow
from accord.hub.storage.rows import DEFAULT_LIMIT, StatePair, named_differences
from accord.operations.context import Action, Changed, Database, OperationContext, is_uuid
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import map_page, page_of
from accord.operations.registry import Registry

ChangeId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
HistoryId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100)]

MAX_SHOWN: Final = 100
"""The maximum number of effects returned with a change."""
_LAST: Final = 2**62

operations: Final = Registry()


class ChangeSummary(Struct, kw_only=True):
    """A change: who made it, by which way and program."""

    id: str
    time: str
    actor: str
    operation: str
    face: str
    client: str | UnsetType = UNSET
    token: str | UnsetType = UNSET
    """The name of the token that was used."""
    reason: str | UnsetType = UNSET
    undoes: str | UnsetType = UNSET
    """The change that this one took back."""
    undone_by: str | UnsetType = UNSET
    proposal_id: str | UnsetType = UNSET
    proposed_by: str | UnsetType = UNSET
    proposed_face: str | UnsetType = UNSET
    proposed_client: str | UnsetType = UNSET
    """The program that made the proposal."""
    proposed_token: str | UnsetType = UNSET
    """The name of the token that it used."""


class ChangeListed(ChangeSummary, kw_only=True):
    """A change in a list, and what it was about."""

    about: list[str]
    """The first few things that it touched, as people call them."""
    total: int
    """How many things it touched."""


class EntityChange(Struct, kw_only=True):
    """What a change did to one thing."""

    __schema_name__ = "Touched"

    action: Action
    kind: str
    id: str
    reference_id: str
    version: int
    differences: list[Difference] | UnsetType = UNSET


class ChangeDetail(ChangeSummary, kw_only=True):
    touched: list[EntityChange]
    total: int
    """How many things it touched; of many not all are listed."""


class Revision(Struct, kw_only=True):
    """One step in the history of a thing."""

    version: int
    """Of the item; 0 of what has no versions."""
    action: Action
    differences: list[Difference]
    change: ChangeSummary
    id: str | UnsetType = UNSET
    """Of something related: its id, kind and name."""
    kind: str | UnsetType = UNSET
    reference_id: str | UnsetType = UNSET


class UndoResult(Changed, kw_only=True):
    """What was taken back."""

    __schema_name__ = "Undone"

    undone: str
    touched: list[EntityChange]
    total: int


class BulkResult(Changed, kw_only=True):
    """What came of each step."""

    __schema_name__ = "Applied"

    results: list[StepResult]


@operations.read(rest=Rest("GET", "/items/{id}/history"), tag="changes", snapshot=True)
async def history(
    work: OperationContext,
    *,
    id: HistoryId,
    related: bool = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> Page[Revision]:
    """List the changes of an item, newest first: differences, who and with what program.
    `related` adds changes of its links, labels, comments and set-aside hints."""
    entity_id = await _entity(work.db, id)
    query = rows.query_hash("history", entity_id, *(["related"] if related else []))
    sequence, place = (_LAST, 0) if cursor is None else rows.cursor_values(cursor, query, int, int)
    page = page_of(
        await revisions.history(
            work.db, entity_id, related=related, before=(sequence, place), limit=limit + 1
        ),
        limit=limit,
        total=await revisions.count_history(work.db, entity_id, related=related),
        key=lambda row: (query, row.sequence, row.place),
    )
    return Page(
        items=await _revisions(work.db, page.items, entity_id),
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


@operations.read(rest=Rest("GET", "/changes/{change_id}"), tag="changes", snapshot=True)
async def get_change(work: OperationContext, *, change_id: ChangeId) -> ChangeDetail:
    """Get a change: who made it, and all that it did."""
    row = await revisions.find_change(work.db, change_id)
    done = await revisions.revisions_of_change(work.db, row.id)
    pairs = [StatePair(each.kind, each.before, each.after) for each in done[:MAX_SHOWN]]
    touched = [_touched(each) for each in done[:MAX_SHOWN]]
    for each, found in zip(touched, await named_differences(work.db, pairs), strict=True):
        each.differences = found
    return ChangeDetail(**summary_of(row), touched=touched, total=len(done))


@operations.read(rest=Rest("GET", "/changes"), tag="changes", snapshot=True)
async def list_changes(
    work: OperationContext,
    *,
    actor: Username | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> Page[ChangeListed]:
    """List changes, newest first: all, or those of somebody."""
    actor_id = None
    if actor is not None:
        actor_id = (
            await reference_data.find_person(work.db, actor, "actor", also_inactive=True)
        ).id
    query = rows.query_hash("changes", actor_id)
    (sequence,) = (_LAST,) if cursor is None else rows.cursor_values(cursor, query, int)
    page = page_of(
        await revisions.newest(work.db, actor_id, sequence, limit + 1),
        limit=limit,
        total=await revisions.count(work.db, actor_id),
        key=lambda row: (query, row.sequence),
    )
    about = await revisions.about(work.db, [row.id for row in page.items])
    return map_page(page, lambda row: ChangeListed(**summary_of(row), **_about(about, row.id)))


@operations.write(rest=Rest("POST", "/changes/{change_id}/undo"), tag="changes", destructive=True)
async def undo(work: OperationContext, *, change_id: ChangeId) -> UndoResult:
    """Take a change back, if nothing that it touched was changed since. An undo can be undone."""
    change = await undoing.undo(work, change_id)
    effects = [effect for effect in work.effects if effect.kind != "change"]
    touched = [
        EntityChange(
            action=effect.action,
            kind=effect.kind,
            id=effect.id,
            reference_id=effect.reference_id,
            version=effect.version,
        )
        for effect in effects[:MAX_SHOWN]
    ]
    return UndoResult(undone=change.id, touched=touched, total=len(effects))


@operations.write(rest=Rest("POST", "/changes"), tag="changes", cost=20, runs=is_step)
async def apply_changes(work: OperationContext, *, steps: Steps) -> BulkResult:
    """Do several writes together: all or none. "$1.id" in arguments is the id step 1 gave."""
    return BulkResult(results=await run_steps(work, steps, may_do))


async def _entity(db: Database, id: str) -> str:
    """Return the id of the entity that has this name now or had it before.

    Raises NotFoundError if no entity ever had the name.
    """
    row = await items.lookup(db, id)
    if row is not None:
        return row.id
    reference = parse_reference(id)
    if reference is not None:
        former = await revisions.former_entity(db, reference)
        if former is not None:
            return former
    elif is_uuid(id) and await revisions.count_history(db, id.lower(), related=False):
        return id.lower()
    raise NotFoundError(f"nothing is or was called {id!r}")


async def _revisions(db: Database, steps: Sequence[RevisionRow], of: str) -> list[Revision]:
    ids = list({each.change_id: None for each in steps})
    if not ids:
        return []
    changes = await revisions.changes(db, ids)
    differences_of_steps = await named_differences(
        db, [StatePair(each.kind, each.before, each.after) for each in steps]
    )
    return [
        Revision(
            version=each.version,
            action=each.action,
            differences=differences,
            change=ChangeSummary(**summary_of(changes[each.change_id])),
            **_related(each, of),
        )
        for each, differences in zip(steps, differences_of_steps, strict=True)
    ]


def _related(row: RevisionRow, of: str) -> dict[str, str]:
    if row.entity_id == of:
        return {}
    return {"id": row.entity_id, "kind": row.kind, "reference_id": row.reference_id}


def _touched(row: RevisionRow) -> EntityChange:
    return EntityChange(
        action=row.action,
        kind=row.kind,
        id=row.entity_id,
        reference_id=row.reference_id,
        version=row.version,
    )


def _about(about: Mapping[str, ChangeSubject], id: str) -> dict[str, Any]:
    found = about.get(id, ChangeSubject((), 0))
    return {"about": list(found.named), "total": found.total}


def summary_of(row: ChangeRow) -> dict[str, Any]:
    """Return the fields of a `ChangeSummary` for a change."""
    names = (
        *("client", "token", "reason", "undoes", "undone_by", "proposal_id"),
        *("proposed_by", "proposed_face", "proposed_client", "proposed_token"),
    )
    return {
        **{name: getattr(row, name) for name in ("id", "time", "actor", "operation", "face")},
        **{name: getattr(row, name) or UNSET for name in names},
    }


RESTORED: Final = ("title", "description", "content", "type", "priority", "assignee_id")
"""The content of a version. Status and position of an item are not restored."""

version_operations: Final = Registry()


class VersionsCompared(Struct, kw_only=True):
    """How one version of an item differs from another."""

    reference_id: str
    a: int
    b: int
    differences: list[Difference]


@version_operations.read(
    rest=Rest("GET", "/items/{id}/versions/{a}/compare"), tag="changes", tool=False, snapshot=True
)
async def compare_versions(
    work: OperationContext, *, id: Id, a: VersionNumber, b: VersionNumber | None = None
) -> VersionsCompared:
    """Tell how version `a` of an item differs from version `b`, or from what it is now."""
    row = await items.find(work.db, id)
    to = row.version if b is None else b
    for name, version in (("a", a), ("b", to)):
        if version > row.version:
            raise InvalidError(name, f"{row.reference_id} has only version {row.version} as yet")
    before = await revisions.state_at(work.db, row, a)
    after = await revisions.state_at(work.db, row, to)
    [found] = await named_differences(work.db, [StatePair(row.kind, before, after)])
    return VersionsCompared(reference_id=row.reference_id, a=a, b=to, differences=found)


class VersionRestoreResult(Changed, kw_only=True):
    """An item that says again what an earlier version said."""

    __schema_name__ = "Restored"

    reference_id: str
    restored: int
    """The version that it was restored to."""
    version: int
    """The version that it has now."""


@version_operations.write(
    rest=Rest("POST", "/items/{id}/versions/{version}/restore"), tag="changes"
)
async def restore_version(
    work: OperationContext,
    *,
    id: Id,
    version: VersionNumber,
    expected_version: Version | None = None,
) -> VersionRestoreResult:
    """Restore the title, texts, type, priority and assignee of an item from an earlier version.
    Its status and place stay."""
    row = await items.find(work.db, id)
    if row.kind == "prompt":
        work.caller.require("admin", "to restore a prompt")
    await lifecycle.check_version(work.db, row, expected_version)
    if version > row.version:
        raise InvalidError("version", f"{row.reference_id} has only version {row.version} as yet")
    then, now = await revisions.state_at(work.db, row, version), row.stored()
    values: dict[str, Any] = {
        name: then[name] for name in RESTORED if name in then and then[name] != now[name]
    }
    if values.get("type"):
        values["type"] = await reference_data.find_requirement_type(work.db, values["type"])
    restored = await lifecycle.write(work, row, values) if values else row
    return VersionRestoreResult(
        reference_id=row.reference_id, restored=version, version=restored.version
    )


news_operations: Final = Registry()

MAX_NEWS_ENTITIES: Final = 3
"""The number of effects shown with each change."""


class NewsEntity(Struct, kw_only=True):
    """What a change did to one thing."""

    __schema_name__ = "Told"

    action: Action
    kind: str
    reference_id: str
    heading: str
    """What it is about, in one line: as it is now, or was."""
    differences: list[Difference]
    """Of what was there before."""


class NewsEntry(ChangeSummary, kw_only=True):
    """A change with what it did to the first things that it touched."""

    __schema_name__ = "News"

    touched: list[NewsEntity]
    total: int
    """How many things it touched."""


@news_operations.read(rest=Rest("GET", "/news"), tag="changes", tool=False, snapshot=True)
async def list_news(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[NewsEntry]:
    """List changes, newest first, each with what it did to the first things that it touched."""
    query = rows.query_hash("news")
    (sequence,) = (_LAST,) if cursor is None else rows.cursor_values(cursor, query, int)
    page = page_of(
        await revisions.news(work.db, sequence, limit + 1),
        limit=limit,
        total=await revisions.count_news(work.db),
        key=lambda row: (query, row.sequence),
    )
    return Page(
        items=await _news(work.db, page.items),
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


@news_operations.read(
    rest=Rest("GET", "/users/me/comments"), tag="comments", tool=False, snapshot=True
)
async def list_comments_for_me(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[ItemComment]:
    """List open comments of others on items that are assigned to you, oldest first."""
    return await comments.for_assignee(work.db, work.caller.user_id, limit, cursor)


async def _news(db: Database, changes: Sequence[ChangeRow]) -> list[NewsEntry]:
    if not changes:
        return []
    ids = [each.id for each in changes]
    entities = await _news_entities(db, await revisions.first_revisions(db, ids, MAX_NEWS_ENTITIES))
    totals = await revisions.totals(db, ids)
    return [
        NewsEntry(
            **summary_of(each), touched=entities.get(each.id, []), total=totals.get(each.id, 0)
        )
        for each in changes
    ]


async def _news_entities(db: Database, steps: Sequence[RevisionRow]) -> dict[str, list[NewsEntity]]:
    """Return the effects that the activity feed shows, by change id."""
    pairs = [
        StatePair(each.kind, each.before, each.after)
        if each.action == "updated"
        else StatePair(each.kind, None, None)
        for each in steps
    ]
    headings = await _headings(db, [each for each in steps if each.action == "updated"])
    entities: dict[str, list[NewsEntity]] = {}
    for each, differences in zip(steps, await named_differences(db, pairs), strict=True):
        about = headings.get(each.entity_id) or _heading(each.after or each.before or {})
        entities.setdefault(each.change_id, []).append(
            NewsEntity(
                action=each.action,
                kind=each.kind,
                reference_id=each.reference_id,
                heading=about,
                differences=differences,
            )
        )
    return entities


async def _headings(db: Database, steps: Sequence[RevisionRow]) -> dict[str, str]:
    """Return the current headings of items, by id."""
    ids = list({each.entity_id: None for each in steps if each.kind in KINDS})
    return {id: heading(row) for id, row in (await items.by_ids(db, ids)).items()}


def _heading(fields: Mapping[str, Any]) -> str:
    """Return the heading of an entity, from its stored fields."""
    names = ("title", "description", "text", "name", "reason")
    return next((summary(fields[name]) for name in names if fields.get(name)), "")
