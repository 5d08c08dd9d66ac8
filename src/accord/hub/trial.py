"""What a piece of work would do: it is run, looked at and taken back, inside of a transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from accord.hub.storage import rows
from accord.operations.work import Work

T = TypeVar("T")


async def tried(work: Work, body: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `body`, then roll back everything that it did.

    Nothing stays in the database, the effects or the hints. Raises the errors of `body`.
    """
    effects, hints = len(work.effects), len(work.hints)
    await rows.savepoint(work.db, "trial")
    try:
        return await body()
    finally:
        await rows.roll_back(work.db, "trial")
        await rows.release(work.db, "trial")
        # In place, since `Work.acting` shares these lists between contexts.
        del work.effects[effects:], work.hints[hints:]
