"""Dead letters: what was given up, kept for people to look at and to have done again."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from accord.store.store import Transaction

LONGEST: Final = 4_000
"""Characters of a reason."""

_INSERT: Final = """
INSERT INTO dead_letters (id, kind, topic, run_id, task, target, code, message, body, attempts,
    created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO NOTHING
"""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A task that failed for good, or a message that nobody could do anything with."""

    id: str
    kind: Literal["task", "message"]
    topic: str = ""
    run_id: str = ""
    task: str = ""
    target: str = ""
    code: str
    message: str
    body: str
    """What it was about."""
    attempts: int = 1
    at: float


async def keep_letter(db: Transaction, letter: DeadLetter) -> bool:
    """Keep a letter; False where it is there already."""
    made = await db.execute(
        _INSERT, letter.id, letter.kind, letter.topic, letter.run_id, letter.task, letter.target,
        letter.code, _kept(letter.message[:LONGEST]), _kept(letter.body), letter.attempts,
        letter.at,
    )  # fmt: skip
    return bool(made)


def _kept(text: str) -> str:
    """Without what PostgreSQL cannot keep: a letter about it must not become one itself."""
    return text.replace("\0", "")
