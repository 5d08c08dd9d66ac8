"""Which status follows on which, as a table for each kind.

A kind that is not in the table has no status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from accord.hub.domain.errors import TransitionError
from accord.hub.domain.kinds import Kind

_OF_WORK: Final[Mapping[str, tuple[str, ...]]] = {
    "Backlog": ("Draft", "In Progress", "Cancelled"),
    "Draft": ("Backlog", "In Progress", "Cancelled"),
    "In Progress": ("Done", "Cancelled"),
    "Done": ("In Progress",),
    "Cancelled": ("Backlog",),
}
_OF_REQUIREMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "Draft": ("Active", "Obsolete"),
    "Active": ("Obsolete",),
    "Obsolete": ("Active",),
}

TRANSITIONS: Final[Mapping[Kind, Mapping[str, tuple[str, ...]]]] = {
    "epic": _OF_WORK,
    "user_story": _OF_WORK,
    "requirement": _OF_REQUIREMENTS,
}
"""By kind and status: the valid next statuses. Kinds that are not in the table have no status."""

STATUSES: Final[Mapping[Kind, tuple[str, ...]]] = {
    kind: tuple(table) for kind, table in TRANSITIONS.items()
}

INITIAL: Final[Mapping[Kind, str]] = {kind: names[0] for kind, names in STATUSES.items()}
"""The status of new items: Backlog for epics and stories, Draft for requirements."""


def check_transition(kind: Kind, before: str, after: str) -> None:
    """Raise TransitionError if `after` is no valid next status of `before`.

    Keeping the status is valid.
    """
    if before == after:
        return
    allowed = TRANSITIONS.get(kind, {}).get(before, ())
    if after not in allowed:
        raise TransitionError(kind, before, after, allowed)
