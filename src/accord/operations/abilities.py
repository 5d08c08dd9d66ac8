"""What an operation is able to do, as clients ask before they let a model call it.

Derived from what the operation declares and, where it carries out others, from what those declare.
The runner compares it with what a call did.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from accord.operations.operation import Operation
from accord.operations.work import Work


class Abilities(Struct, frozen=True):
    """What an operation may do; None where its author does not say."""

    destructive: bool | None
    """Delete something, be it a link or a label of an item. What is only changed keeps its earlier
    versions."""
    open_world: bool | None
    """Have agents or other systems do something."""
    idempotent: bool
    """Whether a second call with the same arguments does nothing further."""


def abilities(operation: Operation, registry: Iterable[Operation]) -> Abilities:
    """Return what `operation` may do, one of `registry`."""
    able = [operation]
    if operation.runs is not None:
        able += [each for each in registry if operation.runs(each)]
    deletes_only = bool(operation.rest) and all(each.verb == "DELETE" for each in operation.rest)
    return Abilities(
        destructive=operation.writes and _any(each.destructive for each in able),
        open_world=_any(each.open_world for each in able),
        idempotent=operation.writes and (operation.idempotent or deletes_only),
    )


def exceeded(work: Work, able: Abilities) -> str:
    """Return what a call did that its operation is not able to; empty if there is nothing."""
    deleted = sorted({effect.kind for effect in work.effects if effect.action == "deleted"})
    if deleted and able.destructive is False:
        return f"deleted {', '.join(deleted)} without being declared destructive"
    if work.reached and able.open_world is False:
        return f"reached {', '.join(sorted(set(work.reached)))} without being declared open_world"
    return ""


def _any(values: Iterable[bool | None]) -> bool | None:
    known = tuple(values)
    return True if True in known else None if None in known else False
