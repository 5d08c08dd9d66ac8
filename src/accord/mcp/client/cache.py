"""Results that the server lets a client keep for a while (2026-07-28, caching). Pure.

A cache belongs to one client, and thereby to one set of credentials: what is `private` may be
reused in it until the credentials change.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct

from accord.mcp.protocol.results import CacheableResult

MAX_KEPT: Final = 1_000
MAX_SECONDS: Final = 24 * 3600.0
"""How long anything is kept, whatever the server says."""


class _Kept(Struct, frozen=True):
    result: CacheableResult
    until: float


class Cache:
    """Results by method and what distinguishes one request of it from another."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, method: str, key: str, *, now: float) -> Any:
        """The result of the same request, if it is fresh; else None."""
        kept = self._kept.get((method, key))
        if kept is None:
            return None
        if now < kept.until:
            return kept.result
        del self._kept[method, key]
        return None

    def put(self, method: str, key: str, result: CacheableResult, *, now: float) -> None:
        """Keep a result as long as it says; 0, nothing and less than 0 mean not at all."""
        ttl = result.ttl_ms
        if ttl is UNSET or ttl <= 0:
            return
        self._kept.pop((method, key), None)
        if len(self._kept) >= MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[method, key] = _Kept(result, now + min(ttl / 1000, MAX_SECONDS))

    def forget(self, *methods: str) -> None:
        """Drop the results of these methods: what they list has changed."""
        for each in [each for each in self._kept if each[0] in methods]:
            del self._kept[each]

    def forget_one(self, method: str, key: str) -> None:
        self._kept.pop((method, key), None)

    def forget_private(self) -> None:
        """Drop what was for one set of credentials only."""
        self._kept = {
            each: kept for each, kept in self._kept.items() if kept.result.cache_scope == "public"
        }
