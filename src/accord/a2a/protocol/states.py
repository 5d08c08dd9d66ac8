"""The states of a task, and what each of them means for whoever waits."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class TaskState(StrEnum):
    """How far a task is; the values are the names of 0.3."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELED = "canceled"
    UNKNOWN = "unknown"


TERMINAL: Final = frozenset(
    (TaskState.COMPLETED, TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED)
)
"""Nothing more will happen."""
INTERRUPTED: Final = frozenset((TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED))
"""Nothing more will happen until somebody says something."""
RESTING: Final = TERMINAL | INTERRUPTED
"""A blocking call returns, and a stream may end."""

NAMES_10: Final = {
    state: "TASK_STATE_" + state.name for state in TaskState if state is not TaskState.UNKNOWN
} | {TaskState.UNKNOWN: "TASK_STATE_UNSPECIFIED"}
"""How 1.0 writes them."""
