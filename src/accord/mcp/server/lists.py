"""Lists as ready bytes: encoded once per change, not once per request.

A list is kept for each version that sees it differently, for each page, and for each set of
components that a client may see. A page begins after the last component of the one before,
which is known by its number: what is added or removed meanwhile moves no page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.cursors import decode_cursor, encode_cursor
from accord.mcp.protocol.results import CacheScope
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming

MAX_KEPT: Final = 256
"""The limit of cached pages of one list."""

Numbered: TypeAlias = Sequence[tuple[int, Any]]
"""Components with their numbers, in ascending order."""


class ReadyList:
    """A list of one kind of components."""

    def __init__(
        self,
        member: str,
        *,
        page_size: int,
        ttl_ms: int,
        profile: Profile,
        finish: Callable[[bytes], bytes],
        define: Callable[[str, Any], Any],
    ) -> None:
        self._member = member.encode()
        self._page_size = page_size
        self._ttl_ms = ttl_ms
        self._profile: Profile = profile
        self._finish = finish
        self._define = define
        """Returns the definition of a component in a version."""
        self._kept: dict[Any, Raw] = {}
        self._version = -1

    def page(
        self,
        incoming: Incoming,
        cursor: str | UnsetType,
        *,
        version: int,
        last: int,
        seen_as: Any,
        scope: CacheScope,
        items: Callable[[], Numbered],
    ) -> Raw:
        """Return the result of a list request.

        `version` and `last` are those of the registry, `seen_as` distinguishes its views, `items`
        returns one. Raises RpcError for an invalid cursor.
        """
        if version != self._version:
            self._version = version
            self._kept.clear()
        key = (incoming.version, cursor, seen_as, scope)
        found = self._kept.get(key)
        if found is None:
            after = self._after(incoming, cursor, last)
            found = self._make(incoming, scope, items(), after)
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _make(self, incoming: Incoming, scope: CacheScope, items: Numbered, after: int) -> Raw:
        start = bisect_right(items, after, key=itemgetter(0))
        end = start + self._page_size
        page = [self._define(incoming.version, each) for _, each in items[start:end]]
        parts = [b'{"%b":%b' % (self._member, encode(page))]
        if end < len(items):
            parts.append(b',"nextCursor":"%b"' % encode_cursor(items[end - 1][0]).encode())
        if incoming.era is Era.STATELESS:
            parts.append(b',"ttlMs":%d,"cacheScope":"%b"' % (self._ttl_ms, scope.encode()))
        parts.append(b"}")
        body = b"".join(parts)
        return Raw(self._finish(body) if incoming.era is Era.STATELESS else body)

    def _after(self, incoming: Incoming, cursor: str | UnsetType, last: int) -> int:
        if cursor is UNSET:
            return 0
        after = decode_cursor(cursor)
        if after is None or not 0 < after <= last:
            raise failure(
                "invalid_cursor",
                "Invalid params: the cursor is none that this list gave",
                era=incoming.era,
                profile=self._profile,
            )
        return after
