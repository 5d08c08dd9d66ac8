"""Record every change of the hub in its transaction, and announce it after the commit.

Two effects concern the record itself: an effect on a `change` marks the change as an undo of that
one, an effect on an accepted `proposal` names the proposal that the change carries out.
"""

from __future__ import annotations

from typing import Final

from accord.hub.storage import revisions
from accord.operations.context import OperationContext
from accord.operations.operation import RecordedChange

FOREIGN_KINDS: Final = frozenset(
    {"user", "token", "session", "agent", "workflow", "run", "dead_letter"}
)
"""Kinds outside of the hub; only the audit trail records them."""


async def record(work: OperationContext, change: RecordedChange) -> None:
    """Record a write as a change with its revisions; nothing if it had no effect."""
    effects = [effect for effect in work.effects if effect.kind not in FOREIGN_KINDS]
    if not effects:
        return
    undoes, proposal_id, reason = None, None, change.reason
    for effect in effects:
        if effect.kind == "change":
            undoes = effect.id
        elif effect.kind == "proposal" and effect.after and effect.after["state"] == "accepted":
            proposal_id, reason = effect.id, effect.after["reason"]
    await revisions.add(
        work,
        change,
        [effect for effect in effects if effect.kind != "change"],
        reason=reason,
        undoes=undoes,
        proposal_id=proposal_id,
    )


CHANNEL: Final = "accord_hub_changes"


async def announce(work: OperationContext, change: RecordedChange) -> None:
    """Notify all processes of a change after its commit.

    A recorder. The processes read the change itself from the tables.
    """
    if any(effect.kind not in FOREIGN_KINDS for effect in work.effects):
        await work.db.notify(CHANNEL)
