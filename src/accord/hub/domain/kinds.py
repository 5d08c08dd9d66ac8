"""Kinds of items, reference ids, statuses, priorities, and the errors of all rules.

RuleError
├── TransitionError     the status may not follow the current one
├── HierarchyError      the kinds may not be parent and child, or be linked
└── CycleError          the link would close a cycle
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.text import fold


class RuleError(ValueError):
    """A violated rule; the message names the rule and the valid choices."""


class TransitionError(RuleError):
    """An invalid status transition; `allowed` has the valid next statuses."""

    def __init__(self, kind: str, before: str, after: str, allowed: Sequence[str]) -> None:
        follow = ", ".join(allowed) if allowed else "none"
        super().__init__(f"{after!r} does not follow on {before!r}; allowed: {follow}")
        self.kind = kind
        self.before = before
        self.after = after
        self.allowed = tuple(allowed)


class HierarchyError(RuleError):
    """A kind that does not belong under another; `allowed` has the valid parents."""

    def __init__(self, message: str, allowed: Sequence[str]) -> None:
        super().__init__(message)
        self.allowed = tuple(allowed)


class CycleError(RuleError):
    """A link that would close a cycle; `path` goes once around it."""

    def __init__(self, type: str, path: Sequence[str]) -> None:
        super().__init__(f"{type} would close a circle: {' -> '.join(path)}")
        self.path = tuple(path)


Kind: TypeAlias = Literal[
    "epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "prompt"
]


class KindRules(Struct, frozen=True):
    """The properties of one kind of items."""

    kind: Kind
    prefix: str
    """The prefix of reference ids: EP-001."""
    plural: str
    """The name in paths and URIs: user-stories."""
    scheme: str
    """The URI scheme of a single item: user-story://US-001."""
    title: str
    """The name for people."""
    parent: Kind | None = None


KINDS: Final[dict[Kind, KindRules]] = {
    each.kind: each
    for each in (
        KindRules("epic", "EP", "epics", "epic", "Epic"),
        KindRules("user_story", "US", "user-stories", "user-story", "User story", "epic"),
        KindRules(
            "acceptance_criteria",
            "AC",
            "acceptance-criteria",
            "acceptance-criteria",
            "Acceptance criteria",
            "user_story",
        ),
        KindRules("requirement", "REQ", "requirements", "requirement", "Requirement", "user_story"),
        KindRules(
            "steering_document",
            "STD",
            "steering-documents",
            "steering-document",
            "Steering document",
        ),
        KindRules("prompt", "PROMPT", "prompts", "prompt", "Prompt"),
    )
}

_BY_PREFIX: Final = {each.prefix: each.kind for each in KINDS.values()}
_REFERENCE: Final = re.compile(r"([A-Za-z]{2,6})-([0-9]{1,12})", re.ASCII)


class Reference(Struct, frozen=True):
    """A reference id, the name that people use for an item."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{KINDS[self.kind].prefix}-{self.number:03d}"


def parse_reference(text: str) -> Reference | None:
    """Return the reference id in a text such as `req-001`, or None.

    Letter case and leading zeros do not matter.
    """
    match = _REFERENCE.fullmatch(text.strip())
    kind = _BY_PREFIX.get(match[1].upper()) if match else None
    if match is None or kind is None or int(match[2]) == 0:
        return None
    return Reference(kind, int(match[2]))


PRIORITIES: Final[dict[int, str]] = {1: "Critical", 2: "High", 3: "Medium", 4: "Low"}
DEFAULT_PRIORITY: Final = 3

_BY_NAME: Final = {fold(name): number for number, name in PRIORITIES.items()}


def parse_priority(text: str) -> int | None:
    """Return the priority with this number or name, or None."""
    folded = fold(text)
    if folded in _BY_NAME:
        return _BY_NAME[folded]
    return int(folded) if folded in map(str, PRIORITIES) else None


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
