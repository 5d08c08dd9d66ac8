"""What to answer when somebody names something that does not exist: what does."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

MOST: Final = 30
"""How many names are told."""
LONGEST: Final = 80
"""How much of a wrong name is repeated, and compared."""


def no_such(what: str, wrong: str, valid: Sequence[str]) -> str:
    """The sentence that says so, with the names there are, the nearest first."""
    wrong = wrong[:LONGEST]
    if not valid:
        return f"there is no {what} {wrong!r}: there are none at all"
    near = get_close_matches(wrong, valid, n=3)
    names = [*near, *(name for name in valid if name not in near)]
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return f"there is no {what} {wrong!r}; there are: {', '.join(names[:MOST])}{more}"
