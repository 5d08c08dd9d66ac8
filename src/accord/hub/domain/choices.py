"""What to answer when somebody names something that does not exist: what does."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

MOST: Final = 30
"""The maximum number of names listed."""
LONGEST: Final = 80
"""The part of an unknown name that is quoted and compared."""


def no_such(what: str, wrong: str, valid: Sequence[str]) -> str:
    """Return the message for an unknown name: the valid names, closest first."""
    wrong = wrong[:LONGEST]
    if not valid:
        return f"there is no {what} {wrong!r}: there are none at all"
    near = get_close_matches(wrong, valid, n=3)
    names = [*near, *(name for name in valid if name not in near)]
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return f"there is no {what} {wrong!r}; there are: {', '.join(names[:MOST])}{more}"
