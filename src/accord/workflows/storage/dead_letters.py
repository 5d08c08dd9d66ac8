"""Dead letters: what was given up, kept for people to look at and to have done again."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from accord.store.store import ReadTransaction, Row, Transaction

MAX_BODY: Final = 4_000
"""Characters of a reason."""

_INSERT: Final = """
INSERT INTO dead_letters (id, kind, topic, run_id, task, target, code, message, body, attempts,
    created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO NOTHING
"""


_COLUMNS: Final = """
SELECT id, kind, topic, run_id, task, target, code, message, body, attempts, created_at,
    replayed_at, replayed_by
FROM dead_letters
"""
ONE: Final = f"{_COLUMNS} WHERE id = $1"
REPLAYED: Final = "UPDATE dead_letters SET replayed_at = $2, replayed_by = $3 WHERE id = $1"
ONE_MESSAGE: Final = """
SELECT topic, run_id, body FROM dead_letters WHERE id = $1 AND kind = 'message'
"""


class NewDeadLetter(Struct, frozen=True, kw_only=True):
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


async def insert_dead_letter(db: Transaction, letter: NewDeadLetter) -> bool:
    """Keep a letter; False where it is there already."""
    made = await db.execute(
        _INSERT, letter.id, letter.kind, letter.topic, letter.run_id, letter.task, letter.target,
        letter.code, _kept(letter.message[:MAX_BODY]), _kept(letter.body), letter.attempts,
        letter.at,
    )  # fmt: skip
    return bool(made)


def _kept(text: str) -> str:
    """Without what PostgreSQL cannot keep: a letter about it must not become one itself."""
    return text.replace("\0", "")


class LetterFilter(Struct, frozen=True, kw_only=True):
    """Which letters are listed; None is no condition."""

    kind: str | None = None
    run_id: str | None = None
    replayed: bool | None = None

    def where(self) -> tuple[str, list[str]]:
        """Return the conditions and their values."""
        given: list[str] = []
        wanted = ["1 = 1"]
        for column, value in (("kind", self.kind), ("run_id", self.run_id)):
            if value is not None:
                given.append(value)
                wanted.append(f"{column} = ${len(given)}")
        if self.replayed is not None:
            wanted.append(f"replayed_at IS {'NOT ' if self.replayed else ''}NULL")
        return " AND ".join(wanted), given


async def count_letters(db: ReadTransaction, wanted: LetterFilter) -> int:
    """Return the number of letters."""
    where, given = wanted.where()
    [count] = await db.fetch(f"SELECT COUNT(*) AS total FROM dead_letters WHERE {where}", *given)
    total: int = count["total"]
    return total


async def list_letters(
    db: ReadTransaction, wanted: LetterFilter, before: tuple[float, str], limit: int
) -> list[Row]:
    """Return the newest letters that are older than the time and id `before`."""
    where, given = wanted.where()
    return await db.fetch(
        f"{_COLUMNS} WHERE {where} AND (created_at, id) < (${len(given) + 1}, ${len(given) + 2})"
        f" ORDER BY created_at DESC, id DESC LIMIT {limit}",
        *given,
        *before,
    )
