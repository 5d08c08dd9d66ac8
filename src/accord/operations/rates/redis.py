"""Buckets in Redis, or in what speaks as it does (Valkey, KeyDB, Dragonfly).

One script takes from all buckets of a call or from none, by the clock of Redis. Where Redis cannot
be asked nobody is held up: calls are let through, and the log says so.
"""

from __future__ import annotations

import logging
import ssl
import time
from hashlib import sha1
from typing import Final

from accord.operations.limiter import Allowance
from accord.operations.rates.bucket import checked
from accord.operations.rates.redis_connection import RedisConnection, RedisError
from accord.operations.rates.resp import Reply, ReplyError

log = logging.getLogger("accord.rates")

PREFIX: Final = "{accord}:rate:"
"""Of all keys; what is in braces puts them on one node of a cluster."""
LOG_SECONDS: Final = 30.0
"""How often it is said that Redis cannot be asked."""

SCRIPT: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local needed, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local emptiest = now
for _, key in ipairs(KEYS) do
    local full_at = tonumber(redis.call('GET', key) or now)
    if full_at > emptiest then emptiest = full_at end
end
if emptiest + needed - now > window then
    return {0, emptiest - now}
end
for _, key in ipairs(KEYS) do
    local full_at = tonumber(redis.call('GET', key) or now)
    if full_at < now then full_at = now end
    full_at = full_at + needed
    local milliseconds = math.ceil((full_at - now) / 1000) + 1
    redis.call('SET', key, string.format('%.0f', full_at), 'PX', milliseconds)
end
return {1, emptiest + needed - now}
"""
_HASH: Final = sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
_MICROSECONDS: Final = 1_000_000


class RedisLimiter:
    """Implements `Limiter`. Raises ValueError for a URL that is none, or a rate or burst of
    nothing."""

    def __init__(
        self, url: str, rate: float, burst: int, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self._bucket = checked(rate, burst)
        self._connection = RedisConnection(url, tls=tls)
        self._logged_at = float("-inf")

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each of `keys`; what is left in the emptiest. Raises
        RateLimitedError, and takes nothing, where one has less."""
        try:
            taken, missing = await self._run(keys, cost)
        except (RedisError, ReplyError) as error:
            self._say(error)
            return self._bucket.allowance(0.0, 0.0)
        if not taken:
            raise self._bucket.refusal(missing, cost, 0.0)
        return self._bucket.allowance(missing, 0.0)

    async def close(self) -> None:
        await self._connection.close()

    async def _run(self, keys: tuple[str, ...], cost: int) -> tuple[bool, float]:
        """Whether it was taken, and how many seconds the emptiest bucket needs to be full."""
        words: tuple[str | int, ...] = (
            len(keys),
            *(PREFIX + key for key in keys),
            round(cost / self._bucket.rate * _MICROSECONDS),
            round(self._bucket.window * _MICROSECONDS),
        )
        try:
            reply = await self._connection.ask("EVALSHA", _HASH, *words)
        except ReplyError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            reply = await self._connection.ask("EVAL", SCRIPT, *words)
        return _read(reply)

    def _say(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._logged_at > LOG_SECONDS:
            self._logged_at = now
            log.error("Redis cannot be asked, and nobody's calls are limited: %s", error)


def _read(reply: Reply) -> tuple[bool, float]:
    match reply:
        case [int(taken), int(missing)]:
            return bool(taken), max(missing, 0) / _MICROSECONDS
        case _:
            raise RedisError("it gave an answer that the script does not give")
