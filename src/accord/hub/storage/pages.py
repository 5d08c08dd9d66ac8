"""Cursors of the hub's lists: they say behind which row the next page begins.

A cursor holds the values by which that row was sorted and its id, so that rows which come or go
between two pages neither repeat nor hide others, and a hash of what was asked for, so that it is
refused where something else is asked.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import msgspec

from accord.operations.errors import InvalidError
from accord.operations.pages import cursor_after, keys_of

DEFAULT_LIMIT: Final = 20


def asked(*what: Any) -> str:
    """A short name of what a list was asked for: its name, filters and order."""
    return sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()[:12]


def cursor_behind(asked_for: str, *values: str | float) -> str:
    """A cursor that stands behind the row with these values."""
    return cursor_after(asked_for, *values)


def place_of(cursor: str, asked_for: str, *types: type) -> list[Any]:
    """The values in a cursor, which are of `types`. Raises InvalidError for one that this list did
    not give."""
    name, *values = keys_of(cursor, _tuple_of(types))
    if name != asked_for:
        raise InvalidError("cursor", "belongs to another list, filter or order")
    return values


def _tuple_of(types: tuple[type, ...]) -> Any:
    return tuple[(str, *types)]  # type: ignore[misc]
