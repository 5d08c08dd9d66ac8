"""Lists as ready bytes: encoded once per change, not once per request.

A list is kept for each version that sees it differently, for each page, and for each set of
components that a client may see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.cursors import decode_cursor, encode_cursor
from accord.mcp.protocol.results import CacheScope
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming

MAX_KEPT: Final = 256
"""How many different pages of one list are kept."""


class ReadyList:
    """One list of a server, such as that of its tools."""

    def __init__(
        self,
        member: str,
        *,
        page_size: int,
        ttl_ms: int,
        profile: Profile,
        finish: Callable[[bytes], bytes],
    ) -> None:
        self._member = member.encode()
        self._page_size = page_size
        self._ttl_ms = ttl_ms
        self._profile: Profile = profile
        self._finish = finish
        self._kept: dict[Any, Raw] = {}
        self._version = -1

    def page(
        self,
        incoming: Incoming,
        cursor: str | UnsetType,
        *,
        version: int,
        seen_as: Any,
        scope: CacheScope,
        items: Callable[[], Iterable[Any]],
    ) -> Raw:
        """The result of the list request. `seen_as` tells the views of the list apart, `items`
        makes one. Raises RpcError for a cursor that is none of ours."""
        if version != self._version:
            self._version = version
            self._kept.clear()
        key = (incoming.version, cursor, seen_as, scope)
        found = self._kept.get(key)
        if found is None:
            found = self._make(incoming, cursor, scope, list(items()))
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _make(
        self, incoming: Incoming, cursor: str | UnsetType, scope: CacheScope, items: Sequence[Any]
    ) -> Raw:
        start = self._start(incoming, cursor, len(items))
        end = start + self._page_size
        parts = [b'{"%b":%b' % (self._member, encode(items[start:end]))]
        if end < len(items):
            parts.append(b',"nextCursor":"%b"' % encode_cursor(end).encode())
        if incoming.era is Era.STATELESS:
            parts.append(b',"ttlMs":%d,"cacheScope":"%b"' % (self._ttl_ms, scope.encode()))
        parts.append(b"}")
        body = b"".join(parts)
        return Raw(self._finish(body) if incoming.era is Era.STATELESS else body)

    def _start(self, incoming: Incoming, cursor: str | UnsetType, length: int) -> int:
        if cursor is UNSET:
            return 0
        start = decode_cursor(cursor)
        if start is None or not 0 < start < length:
            raise failure(
                "invalid_cursor",
                "Invalid params: the cursor is none that this list gave, or the list has changed",
                era=incoming.era,
                profile=self._profile,
            )
        return start
