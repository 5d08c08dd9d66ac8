"""What one process at a time does for all others, by a lease in the database and by its clock."""

from __future__ import annotations

import time
from typing import Final
from uuid import uuid4

from accord.store.store import NOW, Store

_TAKE: Final = """
INSERT INTO leases (name, owner, until) VALUES ($1, $2, {now} + $3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE leases.owner = excluded.owner OR leases.until < {now}
RETURNING owner
"""
_RELEASE: Final = "DELETE FROM leases WHERE name = $1 AND owner = $2"


class Lease:
    """The right to do something alone, for `seconds` at a time."""

    def __init__(self, store: Store, name: str, *, seconds: float = 10.0) -> None:
        self._store = store
        self._name = name
        self._seconds = seconds
        self._owner = str(uuid4())
        self._take = _TAKE.format(now=NOW[store.engine])
        self._until = 0.0
        self._may_be_held = False

    @property
    def renew_seconds(self) -> float:
        """How long whoever has it may go on without taking it again."""
        return self._seconds / 3

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it, which is known without asking."""
        return time.monotonic() < self._until

    async def take(self) -> bool:
        """Get it, or keep it; False where another has it. Raises StoreError."""
        begun = time.monotonic()
        if begun + 2 * self.renew_seconds < self._until:
            return True
        self._may_be_held = True  # also if nobody waits for the answer any more
        got = await self._store.write(self._take, self._name, self._owner, self._seconds)
        self._may_be_held = bool(got)
        # Counted from before the database was asked: what it says is older than its answer.
        self._until = begun + self._seconds if got else 0.0
        return bool(got)

    async def release(self) -> None:
        """Let another have it at once. Raises StoreError."""
        self._until = 0.0
        held, self._may_be_held = self._may_be_held, False
        if held:
            await self._store.write(_RELEASE, self._name, self._owner)
