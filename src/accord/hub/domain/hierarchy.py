"""What may be under what, and what may be linked to what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from accord.hub.domain.errors import HierarchyError
from accord.hub.domain.kinds import KINDS, Kind

CHILDREN: Final[Mapping[Kind, tuple[Kind, ...]]] = {
    kind: tuple(each.kind for each in KINDS.values() if each.parent == kind) for kind in KINDS
}
"""By kind: the kinds of its children."""

LINKABLE: Final[tuple[Kind, ...]] = tuple(kind for kind in KINDS if kind != "prompt")
"""The kinds that can have relationships."""


def check_parent(child: Kind, parent: Kind | None) -> None:
    """Raise HierarchyError if a `child` does not belong under a `parent`."""
    expected = KINDS[child].parent
    if parent == expected:
        return
    title = KINDS[child].title
    if expected is None:
        raise HierarchyError(f"{title} stands under nothing", ())
    given = f", not under {KINDS[parent].title}" if parent is not None else ""
    raise HierarchyError(f"{title} belongs under {KINDS[expected].title}{given}", (expected,))


def check_criteria(requirement_parent: str, criteria_parent: str) -> None:
    """Raise HierarchyError if a requirement and its criteria have different stories."""
    if requirement_parent != criteria_parent:
        raise HierarchyError("the acceptance criteria belong to another user story", ())


def check_linkable(kind: Kind) -> None:
    """Raise HierarchyError for a kind that cannot have relationships."""
    if kind not in LINKABLE:
        names = ", ".join(KINDS[each].title for each in LINKABLE)
        raise HierarchyError(f"{KINDS[kind].title} has no relationships; these have: {names}", ())
