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
    """The declared abilities of an operation; None if its author does not state one."""

    destructive: bool | None
    """May delete something, including a link or a label of an item. An update keeps earlier
    versions and does not count."""
    open_world: bool | None
    """May make agents or other systems act."""
    idempotent: bool
    """A second call with the same arguments has no further effect."""


def abilities(operation: Operation, registry: Iterable[Operation]) -> Abilities:
    """Return the abilities of `operation`, which belongs to `registry`."""
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
    """Return the undeclared effects of a call; empty if there are none."""
    deleted = sorted({effect.kind for effect in work.effects if effect.action == "deleted"})
    if deleted and able.destructive is False:
        return f"deleted {', '.join(deleted)} without being declared destructive"
    if work.reached and able.open_world is False:
        return f"reached {', '.join(sorted(set(work.reached)))} without being declared open_world"
    return ""


def _any(values: Iterable[bool | None]) -> bool | None:
    known = tuple(values)
    return True if True in known else None if None in known else False
