"""Suspect links: a link was made, or confirmed, for what both ends said then.

An end that says something else since makes the link suspect, until somebody confirms it. Changes of
fields beside `TELLING` (who works on it, how far it is) say nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

TELLING: Final = frozenset({"title", "description", "type"})
"""The fields in which an item says something."""


def says_something_else(fields: Iterable[str]) -> bool:
    """Whether a change of these fields makes the links of an item suspect."""
    return not TELLING.isdisjoint(fields)


def changed_ends(remembered: tuple[int, int], said: tuple[int, int]) -> tuple[bool, bool]:
    """Which ends of a link, source and target, said something else since the link remembered
    their versions; `said` are the versions at which they last did."""
    return remembered[0] < said[0], remembered[1] < said[1]
