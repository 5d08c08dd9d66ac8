"""Keeps every change of the hub, inside of the transaction that makes it.

Two effects are about the keeping itself: one on a `change` says that this one takes it back, one
on a `proposal` that is accepted says that this one carries it out.
"""

from __future__ import annotations

from accord.hub.storage import revisions
from accord.operations.outcome import Change
from accord.operations.work import Work

ACCOUNTS = frozenset({"user", "token", "login_session", "setting"})
"""Kinds that the audit trail keeps, and history does not."""


async def record(work: Work, change: Change) -> None:
    """Keep what a write did, with who did it and by which program; nothing where it did nothing."""
    effects = [effect for effect in work.effects if effect.kind not in ACCOUNTS]
    if not effects:
        return
    undone = [effect.id for effect in effects if effect.kind == "change"]
    accepted = [
        effect.id
        for effect in effects
        if effect.kind == "proposal" and effect.after and effect.after["state"] == "accepted"
    ]
    await revisions.add(
        work,
        change,
        [effect for effect in effects if effect.kind != "change"],
        undoes=undone[0] if undone else None,
        proposal_id=accepted[0] if accepted else None,
    )
