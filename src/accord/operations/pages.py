"""Pages of lists, and the cursors that lead from one page to the next."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Annotated, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from accord.operations.errors import InvalidError

T = TypeVar("T")
U = TypeVar("U")

Limit: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
Cursor: TypeAlias = Annotated[str, Meta(max_length=1000)]


class Page(Struct, Generic[T], kw_only=True):
    """Some of a list; `next_cursor` gives what comes behind it."""

    items: list[T]
    next_cursor: str | None
    has_more: bool
    total: int


def cursor_after(*keys: str | float) -> str:
    """Return the cursor after an item with these sort keys."""
    return urlsafe_b64encode(msgspec.json.encode(keys)).decode().rstrip("=")


def cursor_keys(cursor: str, kind: type[T]) -> T:
    """Return the sort keys in a cursor, such as `tuple[str, str]`.

    Raises InvalidError for an invalid cursor.
    """
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        if b"\\u0000" in raw:  # which no database takes
            raise ValueError(raw)
        keys = msgspec.json.decode(raw, type=kind)
        if any(abs(each) >= 2**63 for each in _numbers(keys)):  # which no database takes either
            raise ValueError(raw)
    except (ValueError, msgspec.DecodeError):
        raise InvalidError("cursor", "is not the next_cursor of a list") from None
    return keys


def _numbers(keys: object) -> list[float]:
    return (
        [each for each in keys if isinstance(each, int | float)] if isinstance(keys, tuple) else []
    )


def page_of(
    rows: list[T], *, limit: int, total: int, key: Callable[[T], tuple[str | float, ...]]
) -> Page[T]:
    """Return a page of `rows`, of which `limit` + 1 were requested.

    `key` returns the sort keys of a row.
    """
    items = rows[:limit]
    has_more = len(rows) > limit
    return Page(
        items=items,
        next_cursor=cursor_after(*key(items[-1])) if has_more else None,
        has_more=has_more,
        total=total,
    )


def map_page(page: Page[T], show: Callable[[T], U]) -> Page[U]:
    """Return a page with `show` applied to each row."""
    return Page(
        items=[show(row) for row in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )
