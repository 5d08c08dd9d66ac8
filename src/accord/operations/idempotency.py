"""Calls that were made before: the same key from the same caller does nothing again, for a day.

Each call that is kept removes a few that are older, so that nothing else has to.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

import msgspec

from accord.operations.context import OperationContext
from accord.operations.errors import ConflictError
from accord.operations.storage import FIND_CALL, KEEP_CALL, SWEEP_CALLS

RETENTION: Final = timedelta(hours=24)
MAX_SWEPT: Final = 10
"""How many old calls go for each new one, at most."""


SECRET_FIELDS: Final = frozenset({"password", "current_password", "new_password", "token"})
"""Of arguments and results: never kept, not even hashed. A call that is made again gets its
result without them."""


class EarlierCall(msgspec.Struct, frozen=True):
    """What an earlier call gave."""

    result: Any
    change_id: str


def request_hash(operation: str, arguments: dict[str, Any]) -> str:
    """What tells requests apart that use the same key."""
    told = _without_secrets(arguments)
    return sha256(msgspec.json.encode([operation, told], order="deterministic")).hexdigest()


async def find(work: OperationContext, key: str, hashed: str) -> EarlierCall | None:
    """What the earlier call with this key gave. Raises ConflictError where that asked for
    something else."""
    rows = await work.db.fetch(FIND_CALL, work.caller.user_id, _kept(key), _oldest(work))
    if not rows:
        return None
    if rows[0]["request_hash"] != hashed:
        raise ConflictError(f"the idempotency key {key!r} was used for another request")
    return EarlierCall(msgspec.json.decode(rows[0]["result"]), rows[0]["change_id"])


async def keep(work: OperationContext, key: str, hashed: str, change_id: str, result: Any) -> None:
    """Remember what this call gives."""
    await work.db.execute(SWEEP_CALLS, _oldest(work), MAX_SWEPT)
    encoded = msgspec.json.encode(_without_secrets(msgspec.to_builtins(result))).decode()
    await work.db.execute(
        KEEP_CALL, work.caller.user_id, _kept(key), hashed, change_id, encoded, work.now
    )


def _kept(key: str) -> str:
    """What is kept of a key: callers choose it, and may choose something secret."""
    return sha256(key.encode()).hexdigest()


def _oldest(work: OperationContext) -> str:
    """Calls from before that are forgotten."""
    return (datetime.fromisoformat(work.now) - RETENTION).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _without_secrets(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: each
        for name, each in value.items()
        if name not in SECRET_FIELDS and each is not msgspec.UNSET
    }
