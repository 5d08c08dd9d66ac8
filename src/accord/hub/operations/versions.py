"""Versions of an item: compared, and restored."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from accord.hub import lifecycle
from accord.hub.entities import Difference, Id, Version, VersionNumber
from accord.hub.storage import items, revisions
from accord.hub.storage.differences import Pair, shown
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Changed, Work

RESTORED: Final = ("title", "description", "content", "type", "priority", "assignee_id")
"""The content of a version. Status and position of an item are not restored."""

operations: Final = Registry()


class VersionsCompared(Struct, kw_only=True):
    """How one version of an item differs from another."""

    reference_id: str
    a: int
    b: int
    differences: list[Difference]


@operations.read(
    rest=Rest("GET", "/items/{id}/versions/{a}/compare"), tag="changes", tool=False, snapshot=True
)
async def compare_versions(
    work: Work, *, id: Id, a: VersionNumber, b: VersionNumber | None = None
) -> VersionsCompared:
    """Tell how version `a` of an item differs from version `b`, or from what it is now."""
    row = await items.find(work.db, id)
    to = row.version if b is None else b
    for name, version in (("a", a), ("b", to)):
        if version > row.version:
            raise InvalidError(name, f"{row.reference_id} has only version {row.version} as yet")
    before = await revisions.state_at(work.db, row, a)
    after = await revisions.state_at(work.db, row, to)
    [found] = await shown(work.db, [Pair(row.kind, before, after)])
    return VersionsCompared(reference_id=row.reference_id, a=a, b=to, differences=found)


class Restored(Changed, kw_only=True):
    """An item that says again what an earlier version said."""

    reference_id: str
    restored: int
    """The version that it was restored to."""
    version: int
    """The version that it has now."""


@operations.write(rest=Rest("POST", "/items/{id}/versions/{version}/restore"), tag="changes")
async def restore_version(
    work: Work, *, id: Id, version: VersionNumber, expected_version: Version | None = None
) -> Restored:
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
        values["type"] = await lifecycle.find_type(work.db, values["type"])
    restored = await lifecycle.write(work, row, values) if values else row
    return Restored(reference_id=row.reference_id, restored=version, version=restored.version)
