"""The rules that something would break. Operations turn them into answers.

RuleError
├── TransitionError     a status does not follow on another
├── HierarchyError      one kind of thing does not belong under another
└── CycleError          a link would close a circle
"""

from __future__ import annotations

from collections.abc import Sequence


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
