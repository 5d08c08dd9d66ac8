"""What a piece of work would do: it is run, looked at and taken back, inside of a transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from accord.operations.work import Work

T = TypeVar("T")


async def tried(work: Work, body: Callable[[], Awaitable[T]]) -> T:
    """The result of `body`, of which nothing is left in the database nor among the effects. Raises
    what it raises."""
    effects, hints = len(work.effects), len(work.hints)
    await work.db.execute("SAVEPOINT trial")
    try:
        return await body()
    finally:
        await work.db.execute("ROLLBACK TO SAVEPOINT trial")
        await work.db.execute("RELEASE SAVEPOINT trial")
        del work.effects[effects:], work.hints[hints:]
