"""Keeps every change of the hub, inside of the transaction that makes it.

Two effects are about the keeping itself: one on a `change` says that this one takes it back, one
on a `proposal` that is accepted says that this one carries it out.
"""

from __future__ import annotations

from typing import Final

from accord.hub.storage import revisions
from accord.operations.outcome import Change
from accord.operations.work import Work

ELSEWHERE: Final = frozenset(
    {"user", "token", "session", "agent", "workflow", "run", "dead_letter"}
)
"""Kinds outside of the hub; only the audit trail records them."""


async def record(work: Work, change: Change) -> None:
    """Record a write as a change with its revisions; nothing if it had no effect."""
    effects = [effect for effect in work.effects if effect.kind not in ELSEWHERE]
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
