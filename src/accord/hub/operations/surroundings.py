"""What stands around an item, in short: above and below it, in baselines, who talks about it."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from accord.hub.entities import Id, Provenance
from accord.hub.presentation import heading
from accord.hub.storage import baselines, comments, coverage, items, provenance
from accord.hub.storage.items import ItemRow
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Database, Work

operations: Final = Registry()


class Ancestor(Struct, kw_only=True):
    reference_id: str
    title: str


class InBaseline(Struct, kw_only=True):
    """The newest baseline in which something is."""

    name: str
    version: int
    """Which version of it that is."""


class Surroundings(Struct, kw_only=True):
    """What stands around an item."""

    reference_id: str
    path: list[Ancestor]
    """What it stands under, the topmost first."""
    below: dict[str, int]
    """By kind: how many stand under it; of criteria the requirements that belong to them."""
    steering_documents: list[str]
    """Of an epic: those that guide it."""
    verified: bool | None
    """Whether criteria or a `verifies` link cover it; null for what is no requirement."""
    verified_by: int
    """How many links say that something verifies it."""
    baseline: InBaseline | None
    comments: int
    open_comments: int
    """Those that are no answers, and not resolved."""
    provenance: Provenance | UnsetType = UNSET
    """The program that created the item, unless a person did."""


@operations.read(
    rest=Rest("GET", "/items/{id}/surroundings"), tag="hierarchy", tool=False, snapshot=True
)
async def get_surroundings(work: Work, *, id: Id) -> Surroundings:
    """Tell what stands around an item: parents, how much is below, its baseline and comments."""
    row = await items.find(work.db, id)
    total, unresolved = await comments.count_of_item(work.db, row.id)
    is_verified, links = await coverage.verification(work.db, row.id)
    baseline = await baselines.newest_with(work.db, row.id)
    made = await provenance.of_creation(work.db, [row.id])
    steering = await items.steering_names(work.db, row.id) if row.kind == "epic" else []
    return Surroundings(
        reference_id=row.reference_id,
        path=await _path(work.db, row),
        below=await _below(work.db, row),
        steering_documents=steering,
        verified=is_verified if row.kind == "requirement" else None,
        verified_by=links,
        baseline=InBaseline(name=baseline[0], version=baseline[1]) if baseline else None,
        comments=total,
        open_comments=unresolved,
        provenance=made.get(row.id, UNSET),
    )


async def _path(db: Database, row: ItemRow) -> list[Ancestor]:
    found: list[Ancestor] = []
    parent_id = row.parent_id
    while parent_id is not None:
        parent = await items.find(db, parent_id)
        found.insert(0, Ancestor(reference_id=parent.reference_id, title=heading(parent)))
        parent_id = parent.parent_id
    return found


async def _below(db: Database, row: ItemRow) -> dict[str, int]:
    if row.kind == "acceptance_criteria":
        total = await items.count_of_criteria(db, row.id)
        return {"requirement": total} if total else {}
    return await items.count_below(db, row.id)
