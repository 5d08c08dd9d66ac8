"""Tells all processes that serve the hub of a change, once it is committed. What changed they find
in the tables."""

from __future__ import annotations

from typing import Final

from accord.hub.recorder import ELSEWHERE
from accord.operations.outcome import Change
from accord.operations.work import Work

CHANNEL: Final = "accord_hub_changes"


async def announce(work: Work, change: Change) -> None:
    """Notify all processes of a change after its commit.

    A recorder. The processes read the change itself from the tables.
    """
    if any(effect.kind not in ELSEWHERE for effect in work.effects):
        await work.db.notify(CHANNEL)
