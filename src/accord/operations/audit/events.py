"""Records as those who ask for them see them: with their place in the chain, once they have one."""

from __future__ import annotations

from msgspec import Struct

from accord.store.store import Row


class AuditEvent(Struct, frozen=True, kw_only=True):
    """Who did what. `sequence`, `previous_hash` and `hash` are there once it is sealed, a second
    later at most."""

    sequence: int | None
    id: str
    time: str
    actor: str
    actor_id: str
    via: str
    face: str
    token_id: str
    token: str = ""
    """The name of the token, of those that are still known."""
    client: str
    address: str
    operation: str
    target: str
    change_id: str
    before_hash: str
    after_hash: str
    outcome: str
    error: str
    correlation_id: str
    states: str
    mac: str
    previous_hash: str | None
    hash: str | None


def event_of(row: Row) -> AuditEvent:
    return AuditEvent(**{name: row[name] for name in AuditEvent.__struct_fields__})
