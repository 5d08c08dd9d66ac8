"""The rules that something would break. Operations turn them into answers.

RuleError
├── TransitionError     a status does not follow on another
├── HierarchyError      one kind of thing does not belong under another
└── CycleError          a link would close a circle
"""

from __future__ import annotations

from collections.abc import Sequence


class RuleError(ValueError):
    """A rule would be broken; the message says which, and what is allowed."""


class TransitionError(RuleError):
    """A status does not follow on another; `allowed` are those that do."""

    def __init__(self, kind: str, before: str, after: str, allowed: Sequence[str]) -> None:
        follow = ", ".join(allowed) if allowed else "none"
        super().__init__(f"{after!r} does not follow on {before!r}; allowed: {follow}")
        self.kind = kind
        self.before = before
        self.after = after
        self.allowed = tuple(allowed)


class HierarchyError(RuleError):
    """One kind of thing does not belong under another; `allowed` are those it does belong under."""

    def __init__(self, message: str, allowed: Sequence[str]) -> None:
        super().__init__(message)
        self.allowed = tuple(allowed)


class CycleError(RuleError):
    """A link would close a circle; `path` goes once around it and ends where it begins."""

    def __init__(self, type: str, path: Sequence[str]) -> None:
        super().__init__(f"{type} would close a circle: {' -> '.join(path)}")
        self.path = tuple(path)
