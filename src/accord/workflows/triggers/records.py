"""What the audit trail keeps of runs that start by themselves."""

from __future__ import annotations

from accord.operations.audit.record import Record
from accord.operations.identifiers import new_id, utc_now
from accord.workflows.triggers.saved import Saved


def started(saved: Saved, run_id: str, correlation_id: str, *, address: str = "") -> Record:
    """That a schedule or a webhook started a run, in the name of whoever saved it."""
    return Record(
        id=new_id(),
        time=utc_now(),
        actor_id=saved.saved_by.user_id,
        actor=saved.saved_by.username,
        via="system",
        face="system",
        address=address,
        operation=saved.kind,
        target=f"{saved.workflow}@{saved.version}, {run_id}",
        correlation_id=correlation_id,
    )


def refused(webhook: str, reason: str, correlation_id: str, *, address: str) -> Record:
    """Return the record of a delivery that was not genuine, or one too many."""
    return Record(
        id=new_id(),
        time=utc_now(),
        actor_id="",
        actor="",
        via="",
        face="system",
        address=address,
        operation="webhook",
        target=webhook,
        outcome="unauthenticated",
        error=reason,
        correlation_id=correlation_id,
    )
