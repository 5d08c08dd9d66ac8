"""Idempotency keys: a call with the key of an earlier one is not executed again, for a day.

Each call that is stored removes a few expired ones, so no other clean-up is needed.
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
"""Expired calls removed for each new one, at most."""


SECRET_FIELDS: Final = frozenset({"password", "current_password", "new_password", "token"})
"""Fields of arguments and results that are neither stored nor hashed.

The result of a replayed call lacks them.
"""


class EarlierCall(msgspec.Struct, frozen=True):
    """The stored result of an earlier call."""

    result: Any
    change_id: str


def request_hash(operation: str, arguments: dict[str, Any]) -> str:
    """Return a hash that differs between requests with the same key."""
    told = _without_secrets(arguments)
    return sha256(msgspec.json.encode([operation, told], order="deterministic")).hexdigest()


async def find(work: OperationContext, key: str, hashed: str) -> EarlierCall | None:
    """Return the result of the earlier call with this key, if any.

    Raises ConflictError if that call had other arguments.
    """
    rows = await work.db.fetch(FIND_CALL, work.caller.user_id, _kept(key), _oldest(work))
    if not rows:
        return None
    if rows[0]["request_hash"] != hashed:
        raise ConflictError(f"the idempotency key {key!r} was used for another request")
    return EarlierCall(msgspec.json.decode(rows[0]["result"]), rows[0]["change_id"])


async def keep(work: OperationContext, key: str, hashed: str, change_id: str, result: Any) -> None:
    """Store the result of a call."""
    await work.db.execute(SWEEP_CALLS, _oldest(work), MAX_SWEPT)
    encoded = msgspec.json.encode(_without_secrets(msgspec.to_builtins(result))).decode()
    await work.db.execute(
        KEEP_CALL, work.caller.user_id, _kept(key), hashed, change_id, encoded, work.now
    )


def _kept(key: str) -> str:
    """Return the stored form of a key: hashed, as callers may choose something secret."""
    return sha256(key.encode()).hexdigest()


def _oldest(work: OperationContext) -> str:
    """Return the time before which calls are expired."""
    return (datetime.fromisoformat(work.now) - RETENTION).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _without_secrets(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: each
        for name, each in value.items()
        if name not in SECRET_FIELDS and each is not msgspec.UNSET
    }
