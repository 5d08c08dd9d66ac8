"""Which enums have more members than they list."""

from __future__ import annotations

import enum
from typing import Any


def makes_members(cls: type[enum.Enum]) -> bool:
    """Whether values that it does not list have a member too: flags add up, others are asked."""
    own: Any = cls._missing_
    return (
        issubclass(cls, enum.Flag) or own.__func__ is not enum.Enum.__dict__["_missing_"].__func__
    )
