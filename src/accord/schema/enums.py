"""Which enums have more members than they list."""

from __future__ import annotations

import enum
from typing import Any


def makes_members(cls: type[enum.Enum]) -> bool:
    """Whether values that it does not list have a member too: flags add up, others are asked."""
    return issubclass(cls, enum.Flag) or is_asked(cls)


def is_asked(cls: type[enum.Enum]) -> bool:
    """Whether the class itself decides about values that it does not list."""
    own: Any = cls._missing_
    return all(
        own.__func__ is not each.__dict__["_missing_"].__func__ for each in (enum.Enum, enum.Flag)
    )
