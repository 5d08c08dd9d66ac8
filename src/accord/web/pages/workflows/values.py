"""Inputs and outputs as texts, as much of them as a page can show. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

SOME: Final = 4_000
"""Characters that stand among other things."""
MUCH: Final = 1_000_000
"""Characters of a page of its own."""
LINE: Final = 100


class Shown(Struct, frozen=True):
    """A value as a text."""

    text: str
    size: int
    """Characters of all of it."""

    @property
    def is_cut(self) -> bool:
        return len(self.text) < self.size


def shown(value: Any, most: int = SOME) -> Shown:
    """A value as JSON, indented; a text as it is."""
    text = value if isinstance(value, str) else _json(value, 2)
    return Shown(text[:most], len(text))


def in_line(value: Any) -> str:
    """A value in a few words."""
    text = _json(value, -1)
    return text if len(text) <= LINE else f"{text[: LINE - 1]}…"


def _json(value: Any, indent: int) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
