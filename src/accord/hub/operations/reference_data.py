"""Operations on reference data: labels, types and people.

Everybody reads types; administrators change them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from accord.hub.domain.rules import RuleError, check_linkable
from accord.hub.domain.text import fold, no_such
from accord.hub.entities import Cursor, Deletion, Id, Limit, Name, Page
from accord.hub.lifecycle import check_line, check_text
from accord.hub.storage import items, reference_data, relationships, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.reference_data import LabelRow, RequirementTypeRow
from accord.hub.storage.relationships import TypeRow
from accord.operations.auth.users import username_key
from accord.operations.context import Changed, OperationContext
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor as ShortCursor, cursor_keys, map_page, page_of
from accord.operations.registry import Registry

label_operations: Final = Registry()

MAX_LABELS: Final = 1000
MAX_NAMED: Final = 20

Colour: TypeAlias = Annotated[str, Meta(pattern="^#[0-9a-fA-F]{6}$")]


class ItemLabel(Changed, kw_only=True):
    __schema_name__ = "Label"

    id: str
    name: str
    colour: str
    used: int
    """On how many items it is."""
    created_at: str


class LabelledItem(Changed, kw_only=True):
    """An item, with the labels that it has now."""

    __schema_name__ = "Labelled"

    id: str
    reference_id: str
    labels: list[str]


@label_operations.write(rest=Rest("POST", "/labels", 201, "/labels/{id}"), tag="labels", tool=False)
async def create_label(
    work: OperationContext, *, name: Name, colour: Colour = "#6b7280"
) -> ItemLabel:
    """Create a label."""
    await _check_label_name(work, name)
    if await reference_data.count_labels(work.db) >= MAX_LABELS:
        raise ConflictError(f"there are {MAX_LABELS:,} labels already; more help nobody")
    row = LabelRow(
        work.new_id(), " ".join(name.split()), fold(name), colour.lower(), work.now, used=0
    )
    await rows.insert(work.db, "labels", row.stored())
    work.record(rows.effect("label", None, row.stored(), row.name))
    return _label(row)


@label_operations.read(rest=Rest("GET", "/labels/{id}"), tag="labels", tool=False)
async def get_label(work: OperationContext, *, id: Name) -> ItemLabel:
    """Get a label, by its name or id."""
    return _label(await reference_data.find_label(work.db, id))


@label_operations.write(
    rest=(Rest("PUT", "/labels/{id}"), Rest("PATCH", "/labels/{id}")), tag="labels", tool=False
)
async def update_label(
    work: OperationContext,
    *,
    id: Name,
    name: Name | UnsetType = UNSET,
    colour: Colour | UnsetType = UNSET,
) -> ItemLabel:
    """Rename a label, or give it another colour."""
    before = await reference_data.find_label(work.db, id)
    values: dict[str, Any] = {}
    if name is not UNSET and name != before.name:
        await _check_label_name(work, name, before.id)
        values |= {"name": " ".join(name.split()), "name_key": fold(name)}
    if colour is not UNSET and colour.lower() != before.colour:
        values["colour"] = colour.lower()
    if not values:
        return _label(before)
    await rows.update(work.db, "labels", {"id": before.id}, values)
    after = await reference_data.find_label(work.db, before.id)
    work.record(rows.effect("label", before.stored(), after.stored(), after.name))
    return _label(after)


@label_operations.write(
    right="delete",
    rest=Rest("DELETE", "/labels/{id}", 204),
    tag="labels",
    tool=False,
    destructive=True,
)
async def delete_label(work: OperationContext, *, id: Name, force: bool = False) -> Deletion:
    """Delete a label. One that items have only by `force`, for administrators: it leaves them."""
    row = await reference_data.find_label(work.db, id)
    if force and not work.caller.is_administrator:
        raise ForbiddenError(
            "only administrators may delete with force", required_roles=["Administrator"]
        )
    if row.used and not force:
        named = await reference_data.some_labelled_items(work.db, row.id, MAX_NAMED)
        more = f" and {row.used - len(named):,} more" if row.used > len(named) else ""
        raise ConflictError(
            f"{row.name} is on items: {', '.join(named)}{more}", items=named, total=row.used
        )
    for on_item in await rows.where(work.db, "item_labels", "label_id", row.id):
        await rows.delete(work.db, "item_labels", on_item)
        work.record(rows.effect("item_label", on_item, None))
    await rows.delete(work.db, "labels", {"id": row.id})
    work.record(rows.effect("label", row.stored(), None, row.name))
    return Deletion(deleted=row.name, also_deleted=[])


@label_operations.read(rest=Rest("GET", "/labels"), tag="labels", snapshot=True)
async def list_labels(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[ItemLabel]:
    """List labels, by name."""
    query = rows.query_hash("labels")
    (key,) = [""] if cursor is None else rows.cursor_values(cursor, query, str)
    found = await reference_data.labels_after(work.db, key, limit + 1)
    page = page_of(
        found,
        limit=limit,
        total=await reference_data.count_labels(work.db),
        key=lambda row: (query, row.name_key),
    )
    return map_page(page, _label)


@label_operations.write(rest=Rest("POST", "/items/{id}/labels"), tag="labels", idempotent=True)
async def label_item(work: OperationContext, *, id: Id, label: Name) -> LabelledItem:
    """Put a label on an item."""
    item, row = await _item_and_label(work, id, label)
    if not await reference_data.has_label(work.db, item.id, row.id):
        on_item = {"item_id": item.id, "label_id": row.id}
        await rows.insert(work.db, "item_labels", on_item)
        work.record(rows.effect("item_label", None, on_item, f"{item.reference_id} {row.name}"))
    return await _labelled(work, item)


@label_operations.write(
    rest=Rest("DELETE", "/items/{id}/labels/{label}"),
    tag="labels",
    destructive=True,
    idempotent=True,
)
async def unlabel_item(work: OperationContext, *, id: Id, label: Name) -> LabelledItem:
    """Take a label off an item."""
    item, row = await _item_and_label(work, id, label)
    if await reference_data.has_label(work.db, item.id, row.id):
        on_item = {"item_id": item.id, "label_id": row.id}
        await rows.delete(work.db, "item_labels", on_item)
        work.record(rows.effect("item_label", on_item, None, f"{item.reference_id} {row.name}"))
    return await _labelled(work, item)


async def _item_and_label(work: OperationContext, id: str, label: str) -> tuple[ItemRow, LabelRow]:
    item = await items.find(work.db, id)
    try:
        check_linkable(item.kind)
    except RuleError:
        raise InvalidError("id", f"{item.reference_id} is a prompt, which has no labels") from None
    return item, await reference_data.find_label(work.db, label)


async def _labelled(work: OperationContext, item: ItemRow) -> LabelledItem:
    found = await items.labels_of(work.db, [item.id])
    return LabelledItem(id=item.id, reference_id=item.reference_id, labels=found[item.id])


async def _check_label_name(work: OperationContext, name: str, own_id: str = "") -> None:
    check_line("name", name)
    taken = await reference_data.find_label_named(work.db, name)
    if taken is not None and taken.id != own_id:
        raise ConflictError(f"there is a label {taken.name!r} already", label_id=taken.id)


def _label(row: LabelRow) -> ItemLabel:
    return ItemLabel(
        id=row.id, name=row.name, colour=row.colour, used=row.used, created_at=row.created_at
    )


type_operations: Final = Registry()

T = TypeVar("T")

MAX_TYPES: Final = 100

Note: TypeAlias = Annotated[str, Meta(max_length=2000)]
Verb: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,49}$")]
"""The verb between source and target: depends_on."""


class RequirementType(Changed, kw_only=True):
    name: str
    description: str


class RelationshipType(Changed, kw_only=True):
    name: str
    inverse: str
    symmetric: bool
    """Whether A to B and B to A is the same link."""
    acyclic: bool
    """Whether links must not close a circle."""


@type_operations.read(rest=Rest("GET", "/requirement-types"), tag="types")
async def list_requirement_types(work: OperationContext) -> Page[RequirementType]:
    """List the types that requirements can have."""
    found = await reference_data.requirement_types(work.db)
    return _page([_requirement_type(row) for row in found])


@type_operations.write(
    right="admin",
    rest=Rest("POST", "/requirement-types", 201, "/requirement-types/{name}"),
    tag="types",
    tool=False,
)
async def create_requirement_type(
    work: OperationContext, *, name: Name, description: Note = ""
) -> RequirementType:
    """Add a type of requirements."""
    check_line("name", name)
    check_text("description", description)
    known = await reference_data.requirement_types(work.db)
    _check_type_count(len(known))
    taken = [row.name for row in known if row.name_key == fold(name)]
    if taken:
        raise ConflictError(f"there is a requirement type {taken[0]!r} already")
    row = RequirementTypeRow(" ".join(name.split()), fold(name), description, work.now)
    await rows.insert(work.db, "requirement_types", row.stored())
    work.record(rows.effect("requirement_type", None, row.stored(), row.name))
    return _requirement_type(row)


@type_operations.read(rest=Rest("GET", "/requirement-types/{name}"), tag="types", tool=False)
async def get_requirement_type(work: OperationContext, *, name: Name) -> RequirementType:
    """Get a type of requirements."""
    return _requirement_type(await _find_requirement_type(work, name))


@type_operations.write(
    right="admin", rest=Rest("PUT", "/requirement-types/{name}"), tag="types", tool=False
)
async def update_requirement_type(
    work: OperationContext, *, name: Name, description: Note
) -> RequirementType:
    """Describe a type of requirements. Its name stays: requirements and their history use it."""
    check_text("description", description)
    before = await _find_requirement_type(work, name)
    if before.description == description:
        return _requirement_type(before)
    await rows.update(
        work.db, "requirement_types", {"name": before.name}, {"description": description}
    )
    after = await _find_requirement_type(work, name)
    work.record(rows.effect("requirement_type", before.stored(), after.stored(), after.name))
    return _requirement_type(after)


@type_operations.write(
    right="admin",
    rest=Rest("DELETE", "/requirement-types/{name}", 204),
    tag="types",
    tool=False,
    destructive=True,
)
async def delete_requirement_type(work: OperationContext, *, name: Name) -> Deletion:
    """Delete a type of requirements that no requirement has."""
    row = await _find_requirement_type(work, name)
    used = await reference_data.count_requirements_of_type(work.db, row.name)
    if used:
        raise ConflictError(f"{used:,} requirements have the type {row.name!r}", used=used)
    await rows.delete(work.db, "requirement_types", {"name": row.name})
    work.record(rows.effect("requirement_type", row.stored(), None, row.name))
    return Deletion(deleted=row.name, also_deleted=[])


@type_operations.read(rest=Rest("GET", "/relationship-types"), tag="types")
async def list_relationship_types(work: OperationContext) -> Page[RelationshipType]:
    """List relationship types, with the name of each from the other end."""
    return _page([_relationship_type(row) for row in await relationships.types(work.db)])


@type_operations.write(
    right="admin",
    rest=Rest("POST", "/relationship-types", 201, "/relationship-types/{name}"),
    tag="types",
    tool=False,
)
async def create_relationship_type(
    work: OperationContext,
    *,
    name: Verb,
    inverse: Verb | UnsetType = UNSET,
    symmetric: bool = False,
    acyclic: bool = False,
) -> RelationshipType:
    """Add a type of relationships: `inverse` is its name from the target's side; a symmetric one
    has none."""
    known = await relationships.types(work.db)
    _check_type_count(len(known))
    if symmetric and (acyclic or inverse not in (UNSET, name)):
        raise InvalidError("symmetric", "a symmetric type has no inverse, and is never acyclic")
    if not symmetric and (inverse is UNSET or inverse == name):
        raise InvalidError(
            "inverse", "a type that is not symmetric has another name as its inverse"
        )
    row = TypeRow(name, name if inverse is UNSET else inverse, symmetric, acyclic)
    taken = {each for one in known for each in (one.name, one.inverse)} & {row.name, row.inverse}
    if taken:
        raise ConflictError(f"there is a relationship type with the name {min(taken)!r} already")
    await rows.insert(work.db, "relationship_types", row.stored())
    work.record(rows.effect("relationship_type", None, row.stored(), row.name))
    return _relationship_type(row)


@type_operations.read(rest=Rest("GET", "/relationship-types/{name}"), tag="types", tool=False)
async def get_relationship_type(work: OperationContext, *, name: Name) -> RelationshipType:
    """Get a type of relationships."""
    return _relationship_type(await _find_relationship_type(work, name))


@type_operations.write(
    right="admin",
    rest=Rest("DELETE", "/relationship-types/{name}", 204),
    tag="types",
    tool=False,
    destructive=True,
)
async def delete_relationship_type(work: OperationContext, *, name: Name) -> Deletion:
    """Delete a type of relationships that no relationship has."""
    row = await _find_relationship_type(work, name)
    used = await reference_data.count_relationships_of_type(work.db, row.name)
    if used:
        raise ConflictError(f"{used:,} relationships have the type {row.name!r}", used=used)
    await rows.delete(work.db, "relationship_types", {"name": row.name})
    work.record(rows.effect("relationship_type", row.stored(), None, row.name))
    return Deletion(deleted=row.name, also_deleted=[])


async def _find_requirement_type(work: OperationContext, name: str) -> RequirementTypeRow:
    known = await reference_data.requirement_types(work.db)
    for row in known:
        if row.name_key == fold(name):
            return row
    valid = [row.name for row in known]
    raise NotFoundError(no_such("requirement type", name, valid), valid=valid)


async def _find_relationship_type(work: OperationContext, name: str) -> TypeRow:
    try:
        return await relationships.find_type(work.db, name, "name")
    except InvalidError as error:
        raise NotFoundError(error.errors[0].detail) from None


def _check_type_count(known: int) -> None:
    if known >= MAX_TYPES:
        raise ConflictError(f"there are {known} types already; more than {MAX_TYPES} help nobody")


def _requirement_type(row: RequirementTypeRow) -> RequirementType:
    return RequirementType(name=row.name, description=row.description)


def _relationship_type(row: TypeRow) -> RelationshipType:
    return RelationshipType(
        name=row.name, inverse=row.inverse, symmetric=row.is_symmetric, acyclic=row.is_acyclic
    )


def _page(found: list[T]) -> Page[T]:
    """Return a single page with all types: there are at most 100."""
    return Page(items=found, next_cursor=None, has_more=False, total=len(found))


people_operations: Final = Registry()


class PersonSummary(Struct, kw_only=True):
    username: str


@people_operations.read(rest=Rest("GET", "/people"), tag="hierarchy", tool=False)
async def list_people(
    work: OperationContext, *, limit: Limit = 100, cursor: ShortCursor | None = None
) -> Page[PersonSummary]:
    """List those who can be assigned something, by name."""
    [after] = [""] if cursor is None else cursor_keys(cursor, tuple[str])
    return page_of(
        [
            PersonSummary(username=name)
            for name in await reference_data.active_people(work.db, after, limit + 1)
        ],
        limit=limit,
        total=await reference_data.count_active_people(work.db),
        key=lambda person: (username_key(person.username),),
    )
