"""The epics that a filter offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.hub.entities import Epic
from accord.web.turn import Turn

MAX_OFFERED: Final = 100
"""More are found by typing their ids."""


async def epics_offered(turn: Turn) -> Sequence[Epic]:
    """The first epics, by what they are called."""
    found = await turn.do("list_epics", limit=MAX_OFFERED, fields=["title"])
    epics: Sequence[Epic] = found.items
    return epics
