"""Cursors of the hub's lists: they say behind which row the next page begins.

A cursor holds the values by which that row was sorted and its id, so that rows which come or go
between two pages neither repeat nor hide others, and a hash of what was asked for, so that it is
refused where something else is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from types import GenericAlias
from typing import Any, Final, TypeVar

import msgspec

from accord.operations.errors import InvalidError
from accord.operations.pages import Page, cursor_after, keys_of

T = TypeVar("T")

DEFAULT_LIMIT: Final = 20


def asked(*what: Any) -> str:
    """Return a short hash of a query: its name, filters and order."""
    return sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()[:12]


def cursor_behind(asked_for: str, *values: str | float) -> str:
    """Return the cursor after the row with these values."""
    return cursor_after(asked_for, *values)


def place_of(cursor: str, asked_for: str, *types: type) -> list[Any]:
    """Return the values in a cursor, which have these `types`.

    Raises InvalidError for a cursor of another list.
    """
    keys: Any = GenericAlias(tuple, (str, *types))
    name, *values = keys_of(cursor, keys)
    if name != asked_for:
        raise InvalidError("cursor", "belongs to another list, filter or order")
    return list(values)


def page(rows: list[T], limit: int, total: int, cursor: Callable[[T], str]) -> Page[T]:
    """Return a page of `rows`, which has one row more than `limit` if there are more.

    `cursor` returns the cursor after a row.
    """
    has_more = len(rows) > limit
    return Page(
        items=rows[:limit],
        next_cursor=cursor(rows[limit - 1]) if has_more else None,
        has_more=has_more,
        total=total,
    )
