"""Lists that come in pages: all of them, as long as that comes to an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import UNSET

from accord.jsonrpc.errors import InvalidResultError

MAX_PAGES: Final = 1_000
MAX_ITEMS: Final = 100_000

T = TypeVar("T")


async def all_items(
    method: str, page: Callable[[str | None], Awaitable[Any]], items: Callable[[Any], Sequence[T]]
) -> list[T]:
    """The items of all pages. Raises InvalidResultError for a list that does not end."""
    found: list[T] = []
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        result = await page(cursor)
        found += items(result)
        if result.next_cursor is UNSET:
            return found
        cursor = result.next_cursor
        if cursor in seen:
            raise InvalidResultError(f"the pages of {method} lead back to one that was there")
        seen.add(result.next_cursor)
        if len(seen) >= MAX_PAGES or len(found) > MAX_ITEMS:
            raise InvalidResultError(
                f"{method} has more than {MAX_PAGES:,} pages or {MAX_ITEMS:,} items, the limits"
            )
