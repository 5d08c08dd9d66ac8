"""Suspect links: a link was made, or confirmed, for what both ends said then.

An end that says something else since makes the link suspect, until somebody confirms it. Changes of
fields beside `TELLING` (who works on it, how far it is) say nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TELLING: Final = frozenset({"title", "description", "type"})
"""The fields in which an item says something."""


def says_the_same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a change leaves the links of an item as they were."""
    return all(before.get(field) == after.get(field) for field in TELLING)


def changed_ends(remembered: tuple[int, int], now: tuple[int, int]) -> tuple[bool, bool]:
    """Which ends of a link, source and target, changed since their versions were remembered."""
    return remembered[0] != now[0], remembered[1] != now[1]
