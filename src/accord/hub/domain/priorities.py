"""How much something matters: 1 to 4, and what people call that."""

from __future__ import annotations

from typing import Final

from accord.hub.domain.folding import fold

PRIORITIES: Final[dict[int, str]] = {1: "Critical", 2: "High", 3: "Medium", 4: "Low"}
DEFAULT_PRIORITY: Final = 3

_BY_NAME: Final = {fold(name): number for number, name in PRIORITIES.items()}


def parse_priority(text: str) -> int | None:
    """Return the priority with this number or name, or None."""
    folded = fold(text)
    if folded in _BY_NAME:
        return _BY_NAME[folded]
    return int(folded) if folded in map(str, PRIORITIES) else None
