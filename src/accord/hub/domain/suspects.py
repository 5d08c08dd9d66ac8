"""Suspect links: a link was made, or confirmed, for what both ends said then.

An end that says something else since makes the link suspect, until somebody confirms it. Changes of
fields beside `TELLING` (who works on it, how far it is) say nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

TELLING: Final = frozenset({"title", "description", "type"})
"""The fields with content; a change of them makes links suspect."""


def says_something_else(fields: Iterable[str]) -> bool:
    """Return whether a change of these fields makes links of the item suspect."""
    return not TELLING.isdisjoint(fields)


def changed_ends(remembered: tuple[int, int], said: tuple[int, int]) -> tuple[bool, bool]:
    """Return, for source and target, whether the end changed its content.

    `remembered` are the versions that the link remembers, `said` the versions of the last content
    changes.
    """
    return remembered[0] < said[0], remembered[1] < said[1]
