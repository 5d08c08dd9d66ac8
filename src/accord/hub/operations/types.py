"""Types of requirements and of relationships. Everybody reads them, administrators change them."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias, TypeVar

from msgspec import UNSET, Meta, UnsetType

from accord.hub.domain.choices import no_such
from accord.hub.domain.folding import fold
from accord.hub.entities import Deleted, Name, Page
from accord.hub.lifecycle import check_line, check_text
from accord.hub.storage import relationships, rows, types
from accord.hub.storage.relationships import TypeRow
from accord.hub.storage.types import RequirementTypeRow
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Changed, Effect, Work

operations: Final = Registry()

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


@operations.read(rest=Rest("GET", "/requirement-types"), tag="types")
async def list_requirement_types(work: Work) -> Page[RequirementType]:
    """List the types that requirements can have."""
    found = await types.all_types(work.db)
    return _page([_requirement_type(row) for row in found])


@operations.write(
    right="admin",
    rest=Rest("POST", "/requirement-types", 201, "/requirement-types/{name}"),
    tag="types",
    tool=False,
)
async def create_requirement_type(
    work: Work, *, name: Name, description: Note = ""
) -> RequirementType:
    """Add a type of requirements."""
    check_line("name", name)
    check_text("description", description)
    known = await types.all_types(work.db)
    _check_number(len(known))
    taken = [row.name for row in known if row.name_key == fold(name)]
    if taken:
        raise ConflictError(f"there is a requirement type {taken[0]!r} already")
    row = RequirementTypeRow(" ".join(name.split()), fold(name), description, work.now)
    await rows.insert(work.db, "requirement_types", row.stored())
    work.did(rows.effect("created", "requirement_type", row.stored(), row.name))
    return _requirement_type(row)


@operations.read(rest=Rest("GET", "/requirement-types/{name}"), tag="types", tool=False)
async def get_requirement_type(work: Work, *, name: Name) -> RequirementType:
    """Get a type of requirements."""
    return _requirement_type(await _find(work, name))


@operations.write(
    right="admin", rest=Rest("PUT", "/requirement-types/{name}"), tag="types", tool=False
)
async def update_requirement_type(work: Work, *, name: Name, description: Note) -> RequirementType:
    """Describe a type of requirements. Its name stays: requirements and their history use it."""
    check_text("description", description)
    before = await _find(work, name)
    if before.description == description:
        return _requirement_type(before)
    await rows.update(
        work.db, "requirement_types", {"name": before.name}, {"description": description}
    )
    after = await _find(work, name)
    work.did(
        Effect(
            action="updated",
            kind="requirement_type",
            id=after.name,
            reference_id=after.name,
            before=before.stored(),
            after=after.stored(),
        )
    )
    return _requirement_type(after)


@operations.write(
    right="admin",
    rest=Rest("DELETE", "/requirement-types/{name}", 204),
    tag="types",
    tool=False,
    destructive=True,
)
async def delete_requirement_type(work: Work, *, name: Name) -> Deleted:
    """Delete a type of requirements that no requirement has."""
    row = await _find(work, name)
    used = await types.requirements_of_type(work.db, row.name)
    if used:
        raise ConflictError(f"{used:,} requirements have the type {row.name!r}", used=used)
    await rows.delete(work.db, "requirement_types", {"name": row.name})
    work.did(rows.effect("deleted", "requirement_type", row.stored(), row.name))
    return Deleted(deleted=row.name, also_deleted=[])


@operations.read(rest=Rest("GET", "/relationship-types"), tag="types")
async def list_relationship_types(work: Work) -> Page[RelationshipType]:
    """List relationship types, with the name of each from the other end."""
    return _page([_relationship_type(row) for row in await relationships.types(work.db)])


@operations.write(
    right="admin",
    rest=Rest("POST", "/relationship-types", 201, "/relationship-types/{name}"),
    tag="types",
    tool=False,
)
async def create_relationship_type(
    work: Work,
    *,
    name: Verb,
    inverse: Verb | UnsetType = UNSET,
    symmetric: bool = False,
    acyclic: bool = False,
) -> RelationshipType:
    """Add a type of relationships: `inverse` is its name from the target's side; a symmetric one
    has none."""
    known = await relationships.types(work.db)
    _check_number(len(known))
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
    work.did(rows.effect("created", "relationship_type", row.stored(), row.name))
    return _relationship_type(row)


@operations.read(rest=Rest("GET", "/relationship-types/{name}"), tag="types", tool=False)
async def get_relationship_type(work: Work, *, name: Name) -> RelationshipType:
    """Get a type of relationships."""
    return _relationship_type(await _find_relationship_type(work, name))


@operations.write(
    right="admin",
    rest=Rest("DELETE", "/relationship-types/{name}", 204),
    tag="types",
    tool=False,
    destructive=True,
)
async def delete_relationship_type(work: Work, *, name: Name) -> Deleted:
    """Delete a type of relationships that no relationship has."""
    row = await _find_relationship_type(work, name)
    used = await types.relationships_of_type(work.db, row.name)
    if used:
        raise ConflictError(f"{used:,} relationships have the type {row.name!r}", used=used)
    await rows.delete(work.db, "relationship_types", {"name": row.name})
    work.did(rows.effect("deleted", "relationship_type", row.stored(), row.name))
    return Deleted(deleted=row.name, also_deleted=[])


async def _find(work: Work, name: str) -> RequirementTypeRow:
    known = await types.all_types(work.db)
    for row in known:
        if row.name_key == fold(name):
            return row
    valid = [row.name for row in known]
    raise NotFoundError(no_such("requirement type", name, valid), valid=valid)


async def _find_relationship_type(work: Work, name: str) -> TypeRow:
    try:
        return await relationships.find_type(work.db, name, "name")
    except InvalidError as error:
        raise NotFoundError(error.errors[0].detail) from None


def _check_number(known: int) -> None:
    if known >= MAX_TYPES:
        raise ConflictError(f"there are {known} types already; more than {MAX_TYPES} help nobody")


def _requirement_type(row: RequirementTypeRow) -> RequirementType:
    return RequirementType(name=row.name, description=row.description)


def _relationship_type(row: TypeRow) -> RelationshipType:
    return RelationshipType(
        name=row.name, inverse=row.inverse, symmetric=row.is_symmetric, acyclic=row.is_acyclic
    )


def _page(found: list[T]) -> Page[T]:
    """Return a single page with all of them: there are at most 100."""
    return Page(items=found, next_cursor=None, has_more=False, total=len(found))
