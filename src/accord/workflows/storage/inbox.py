"""What arrives for runs, until their executor has decided on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from accord.store.store import Transaction
from accord.workflows.core.events import Arrival, encode_event
from accord.workflows.storage.rows import Insertion
from accord.workflows.storage.shards import shard_of

WAKE: Final = "run_inbox"
"""The channel on which executors hear that something arrived."""

_INSERTION: Final = Insertion(
    "run_inbox",
    {"message_id": "text", "run_id": "text", "shard": "integer", "arrival": "text"},
    "ON CONFLICT (message_id) DO NOTHING",
)


class Message(Struct, frozen=True):
    """Something for a run. A second with the same id is dropped while the first is there; the
    machine ignores what comes later."""

    id: str
    run_id: str
    arrival: Arrival
    traceparent: str = ""
    correlation_id: str = ""


async def deliver(db: Transaction, messages: Iterable[Message]) -> None:
    """Put something into the inboxes of runs, in this order, and wake their executors."""
    rows = [
        (each.id, each.run_id, shard_of(each.run_id), encode_event(each.arrival).decode())
        for each in messages
    ]
    if rows:
        await _INSERTION.run(db, rows)
        await db.notify(WAKE)
