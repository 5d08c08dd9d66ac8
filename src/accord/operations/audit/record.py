"""One record of the audit trail."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

Result: TypeAlias = Literal[
    "done", "dry_run", "refused", "denied", "failed", "cancelled", "unauthenticated"
]
"""How a call ended; a `dry_run` changed nothing, and its error says why a real one is refused."""
"""A write that was cancelled, as its caller left, may be done all the same: then another record
says so."""


class Record(Struct, frozen=True, kw_only=True):
    """Who did what. Never holds a secret, nor what a text says: of that only hashes."""

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
    """The reference id, name or id of what it was done to; several with a comma between."""
    change_id: str = ""
    before_hash: str = ""
    after_hash: str = ""
    outcome: Result = "done"
    error: str = ""
    """The code of the error."""
    correlation_id: str = ""
    states: str = ""
    """How many states of rows were kept with it; see `audit.states`."""


class Trail(Protocol):
    """Where records go."""

    async def write(self, transaction: Any, record: Record) -> None:
        """Keep a record in the very transaction that it is about."""

    def later(self, record: Record) -> None:
        """Keep a record within a second: of what did not change anything. Never blocks."""
