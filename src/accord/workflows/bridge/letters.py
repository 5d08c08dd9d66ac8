"""Dead letters of tasks that failed for good: what is said of them."""

from __future__ import annotations

from typing import Final

from msgspec import json

from accord.operations.identifiers import new_id
from accord.operations.logs.redaction import redact_value
from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.core.state import Failure
from accord.workflows.storage.dead_letters import DeadLetter

MAX_BODY: Final = 16_384
"""Characters of what it was about."""


def letter_of(task: ClaimedTask, error: Failure, at: float) -> DeadLetter:
    """The letter of a task that failed for good."""
    return DeadLetter(
        id=new_id(),
        kind="task",
        run_id=task.run_id,
        task=task.task,
        target=task.target,
        code=error.code,
        message=error.message,
        body=json.encode(redact_value(task.command.input)).decode()[:MAX_BODY],
        attempts=task.attempt,
        at=at,
    )
