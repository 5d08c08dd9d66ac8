"""One record of the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

Result: TypeAlias = Literal[
    "done", "dry_run", "refused", "denied", "failed", "cancelled", "unauthenticated"
]
"""The result of a call. A `dry_run` changed nothing; its error is the refusal of a real call."""
"""A cancelled write, left by its caller, may still complete; another record then reports it."""


class Record(Struct, frozen=True, kw_only=True):
    """One call. Contains no secrets, and only hashes of texts."""

    id: str
    time: str
    actor_id: str
    actor: str
    via: str
    face: str
    token_id: str = ""
    client: str = ""
    address: str = ""
    operation: str
    target: str = ""
    """The reference id, name or id of the subject; several are separated by commas."""
    change_id: str = ""
    before_hash: str = ""
    after_hash: str = ""
    outcome: Result = "done"
    error: str = ""
    """The code of the error."""
    correlation_id: str = ""
    states: str = ""
    """The number of row states stored with the record; see `audit.states`."""


class Trail(Protocol):
    """The destination of audit records."""

    async def write(self, transaction: Any, record: Record) -> None:
        """Write a record in the transaction that it describes."""

    def later(self, record: Record) -> None:
        """Queue a record of a call that changed nothing; never blocks.

        It is written within a second.
        """


def hash_of_values(values: Sequence[Mapping[str, Any] | None]) -> str:
    """Return the hash of the states before or after the effects; empty if there are none."""
    if not any(value is not None for value in values):
        return ""
    return sha256(msgspec.json.encode(values, order="deterministic")).hexdigest()
