"""Labels, and what they are on."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from accord.hub.domain.errors import RuleError
from accord.hub.domain.folding import fold
from accord.hub.domain.hierarchy import check_linkable
from accord.hub.entities import Cursor, Deleted, Id, Limit, Name, Page
from accord.hub.lifecycle import check_line
from accord.hub.storage import items, labels, pages, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.labels import LabelRow
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import page_of, shown_page
from accord.operations.registry import Registry
from accord.operations.work import Changed, Effect, Work

operations: Final = Registry()

MAX_LABELS: Final = 1000
MAX_NAMED: Final = 20

Colour: TypeAlias = Annotated[str, Meta(pattern="^#[0-9a-fA-F]{6}$")]


class Label(Changed, kw_only=True):
    id: str
    name: str
    colour: str
    used: int
    """On how many items it is."""
    created_at: str


class Labelled(Changed, kw_only=True):
    """An item, with the labels that it has now."""

    id: str
    reference_id: str
    labels: list[str]


@operations.write(rest=Rest("POST", "/labels", 201, "/labels/{id}"), tag="labels", tool=False)
async def create_label(work: Work, *, name: Name, colour: Colour = "#6b7280") -> Label:
    """Create a label."""
    await _check_name(work, name)
    if await labels.count(work.db) >= MAX_LABELS:
        raise ConflictError(f"there are {MAX_LABELS:,} labels already; more help nobody")
    row = LabelRow(
        work.new_id(), " ".join(name.split()), fold(name), colour.lower(), work.now, used=0
    )
    await rows.insert(work.db, "labels", row.stored())
    work.did(rows.effect("created", "label", row.stored(), row.name))
    return _shown(row)


@operations.read(rest=Rest("GET", "/labels/{id}"), tag="labels", tool=False)
async def get_label(work: Work, *, id: Name) -> Label:
    """Get a label, by its name or id."""
    return _shown(await labels.find(work.db, id))


@operations.write(
    rest=(Rest("PUT", "/labels/{id}"), Rest("PATCH", "/labels/{id}")), tag="labels", tool=False
)
async def update_label(
    work: Work, *, id: Name, name: Name | UnsetType = UNSET, colour: Colour | UnsetType = UNSET
) -> Label:
    """Rename a label, or give it another colour."""
    before = await labels.find(work.db, id)
    values: dict[str, Any] = {}
    if name is not UNSET and name != before.name:
        await _check_name(work, name, before.id)
        values |= {"name": " ".join(name.split()), "name_key": fold(name)}
    if colour is not UNSET and colour.lower() != before.colour:
        values["colour"] = colour.lower()
    if not values:
        return _shown(before)
    await rows.update(work.db, "labels", {"id": before.id}, values)
    after = await labels.find(work.db, before.id)
    work.did(
        Effect(
            action="updated",
            kind="label",
            id=after.id,
            reference_id=after.name,
            before=before.stored(),
            after=after.stored(),
        )
    )
    return _shown(after)


@operations.write(
    right="delete",
    rest=Rest("DELETE", "/labels/{id}", 204),
    tag="labels",
    tool=False,
    destructive=True,
)
async def delete_label(work: Work, *, id: Name, force: bool = False) -> Deleted:
    """Delete a label. One that items have only by `force`, for administrators: it leaves them."""
    row = await labels.find(work.db, id)
    if force and not work.caller.is_administrator:
        raise ForbiddenError(
            "only administrators may delete with force", required_roles=["Administrator"]
        )
    if row.used and not force:
        named = await labels.some_items(work.db, row.id, MAX_NAMED)
        more = f" and {row.used - len(named):,} more" if row.used > len(named) else ""
        raise ConflictError(
            f"{row.name} is on items: {', '.join(named)}{more}", items=named, total=row.used
        )
    for on_item in await rows.where(work.db, "item_labels", "label_id", row.id):
        await rows.delete(work.db, "item_labels", on_item)
        work.did(rows.effect("deleted", "item_label", on_item))
    await rows.delete(work.db, "labels", {"id": row.id})
    work.did(rows.effect("deleted", "label", row.stored(), row.name))
    return Deleted(deleted=row.name, also_deleted=[])


@operations.read(rest=Rest("GET", "/labels"), tag="labels", snapshot=True)
async def list_labels(
    work: Work, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[Label]:
    """List labels, by name."""
    asked = pages.asked("labels")
    (key,) = [""] if cursor is None else pages.place_of(cursor, asked, str)
    found = await labels.behind(work.db, key, limit + 1)
    page = page_of(
        found,
        limit=limit,
        total=await labels.count(work.db),
        key=lambda row: (asked, row.name_key),
    )
    return shown_page(page, _shown)


@operations.write(rest=Rest("POST", "/items/{id}/labels"), tag="labels", idempotent=True)
async def label_item(work: Work, *, id: Id, label: Name) -> Labelled:
    """Put a label on an item."""
    item, row = await _both(work, id, label)
    if not await labels.is_on(work.db, item.id, row.id):
        on_item = {"item_id": item.id, "label_id": row.id}
        await rows.insert(work.db, "item_labels", on_item)
        work.did(rows.effect("created", "item_label", on_item, f"{item.reference_id} {row.name}"))
    return await _labelled(work, item)


@operations.write(
    rest=Rest("DELETE", "/items/{id}/labels/{label}"),
    tag="labels",
    destructive=True,
    idempotent=True,
)
async def unlabel_item(work: Work, *, id: Id, label: Name) -> Labelled:
    """Take a label off an item."""
    item, row = await _both(work, id, label)
    if await labels.is_on(work.db, item.id, row.id):
        on_item = {"item_id": item.id, "label_id": row.id}
        await rows.delete(work.db, "item_labels", on_item)
        work.did(rows.effect("deleted", "item_label", on_item, f"{item.reference_id} {row.name}"))
    return await _labelled(work, item)


async def _both(work: Work, id: str, label: str) -> tuple[ItemRow, LabelRow]:
    item = await items.find(work.db, id)
    try:
        check_linkable(item.kind)
    except RuleError:
        raise InvalidError("id", f"{item.reference_id} is a prompt, which has no labels") from None
    return item, await labels.find(work.db, label)


async def _labelled(work: Work, item: ItemRow) -> Labelled:
    found = await items.labels_of(work.db, [item.id])
    return Labelled(id=item.id, reference_id=item.reference_id, labels=found[item.id])


async def _check_name(work: Work, name: str, own_id: str = "") -> None:
    check_line("name", name)
    taken = await labels.find_named(work.db, name)
    if taken is not None and taken.id != own_id:
        raise ConflictError(f"there is a label {taken.name!r} already", label_id=taken.id)


def _shown(row: LabelRow) -> Label:
    return Label(
        id=row.id, name=row.name, colour=row.colour, used=row.used, created_at=row.created_at
    )
