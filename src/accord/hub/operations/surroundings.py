"""What stands around an item, in short: above and below it, in baselines, who talks about it."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.entities import Id, Provenance
from accord.hub.presentation import heading
from accord.hub.storage import items, provenance
from accord.hub.storage.coverage import IS_VERIFIED
from accord.hub.storage.items import ItemRow
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Database, Work

BELOW: Final = "SELECT kind, COUNT(*) AS total FROM items WHERE parent_id = $1 GROUP BY kind"
OF_CRITERIA: Final = "SELECT COUNT(*) AS total FROM items WHERE criteria_id = $1"
STEERING: Final = """
SELECT s.reference_id FROM steering_links l JOIN items s ON s.id = l.steering_id
WHERE l.epic_id = $1 ORDER BY s.number
"""
VERIFIED: Final = f"""
SELECT (CASE WHEN {IS_VERIFIED} THEN 1 ELSE 0 END) AS verified, (
    SELECT COUNT(*) FROM relationships WHERE target_id = $1 AND type = 'verifies') AS links
FROM items i WHERE i.id = $1
"""
BASELINE: Final = """
SELECT b.name, e.version FROM baseline_entries e JOIN baselines b ON b.id = e.baseline_id
WHERE e.entity_id = $1 ORDER BY b.created_at DESC, b.id DESC LIMIT 1
"""
COMMENTS: Final = """
SELECT COUNT(*) AS total,
       COALESCE(SUM(CASE WHEN resolved = 0 AND reply_to IS NULL THEN 1 ELSE 0 END), 0) AS unresolved
FROM comments WHERE target_id = $1
"""

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
    [talk] = await work.db.fetch(COMMENTS, row.id)
    [verified] = await work.db.fetch(VERIFIED, row.id)
    baseline = await work.db.fetch(BASELINE, row.id)
    made = await provenance.of_creation(work.db, [row.id])
    steering = await work.db.fetch(STEERING, row.id) if row.kind == "epic" else []
    return Surroundings(
        reference_id=row.reference_id,
        path=await _path(work.db, row),
        below=await _below(work.db, row),
        steering_documents=[each["reference_id"] for each in steering],
        verified=bool(verified["verified"]) if row.kind == "requirement" else None,
        verified_by=verified["links"],
        baseline=InBaseline(name=baseline[0]["name"], version=baseline[0]["version"])
        if baseline
        else None,
        comments=talk["total"],
        open_comments=int(talk["unresolved"]),
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
        [counted] = await db.fetch(OF_CRITERIA, row.id)
        return {"requirement": counted["total"]} if counted["total"] else {}
    found = {each["kind"]: each["total"] for each in await db.fetch(BELOW, row.id)}
    kinds: list[Kind] = [kind for kind in KINDS if kind in found]
    return {kind: found[kind] for kind in kinds}
