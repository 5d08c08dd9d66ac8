"""Dead letters of tasks that failed for good: for people to look at, and to have done again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, json

from accord.operations.identifiers import new_id
from accord.operations.logs.redaction import redact_value
from accord.store.store import Transaction
from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.core.state import Failure

MAX_BODY: Final = 16_384
"""Characters of what it was about."""

_INSERT: Final = """
INSERT INTO dead_letters (id, kind, run_id, task, target, code, message, body, attempts, created_at)
VALUES ($1, 'task', $2, $3, $4, $5, $6, $7, $8, $9)
"""


class Letter(Struct, frozen=True):
    """One task that failed for good."""

    task: ClaimedTask
    error: Failure
    at: float


async def insert_letters(db: Transaction, letters: Sequence[Letter]) -> None:
    await db.execute_many(_INSERT, [_row(each) for each in letters])


def _row(letter: Letter) -> tuple[object, ...]:
    task = letter.task
    body = json.encode(redact_value(task.command.input)).decode()[:MAX_BODY]
    return (
        new_id(), task.run_id, task.task, task.target, letter.error.code,
        letter.error.message, body, task.attempt, letter.at,
    )  # fmt: skip
