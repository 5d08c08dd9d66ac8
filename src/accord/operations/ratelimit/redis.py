"""Token buckets in Redis or a compatible server, with the package redis (`accord[redis]`).

One script takes from all buckets of a call or from none, by the clock of Redis. While Redis cannot
be reached, calls are let through and the log says so.

A process has one connection. A check is one run of the script. Checks that arrive while a batch is
in flight wait for the next batch, so that many concurrent checks share one round trip. By default,
the package redis would retry, keep a pool and accept replies of any size. Here a check fails after
`ANSWER_SECONDS`, no connection is tried for `RETRY_SECONDS` after a failure, and the replies to a
batch are at most `MAX_REPLY_BYTES` long.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from hashlib import sha1
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from redis.asyncio import Connection, SSLConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

from accord.operations.errors import Allowance
from accord.operations.ratelimit.bucket import checked_bucket

CONNECT_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0
MAX_WAITING: Final = 10_000
"""Maximum number of checks that wait to be sent."""
MAX_BATCH: Final = 500
MAX_REPLY_BYTES: Final = 64 * 1024
DEFAULT_PORT: Final = 6379
LOG_SECONDS: Final = 30.0
"""Minimum time between two log lines about an unreachable Redis."""
PREFIX: Final = "{accord}:rate:"
"""The prefix of all keys; the braces put them on one node of a cluster."""

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

_Arguments: TypeAlias = tuple[int | str, ...]
"""The script's arguments: the number of keys, the keys, and two amounts in microseconds: the cost
of the call, and the size of a full bucket."""

log = logging.getLogger("accord.rates")


class RedisUnavailableError(Exception):
    """Redis cannot be reached, or did not answer properly."""


class RedisLimiter:
    """A limiter in Redis at `redis://[user:password@]host[:port][/database]`; `rediss://` uses TLS.

    Implements `Limiter`. Raises ValueError for an invalid URL, and if rate or burst is not
    positive.
    """

    def __init__(self, url: str, rate: float, burst: int) -> None:
        self._bucket = checked_bucket(rate, burst)
        self._checks = _CheckQueue(url)
        self._logged_at = float("-inf")

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each key; return the lowest allowance.

        Raises RateLimitedError, and takes nothing, if one of the buckets has less.
        """
        needed = round(cost / self._bucket.rate * _MICROSECONDS)
        window = round(self._bucket.window * _MICROSECONDS)
        arguments: _Arguments = (len(keys), *(PREFIX + key for key in keys), needed, window)
        try:
            taken, missing = await self._checks.run(arguments)
        except RedisUnavailableError as error:
            self._log(error)
            return self._bucket.allowance(0.0, 0.0)
        if not taken:
            raise self._bucket.refusal(missing, cost, 0.0)
        return self._bucket.allowance(missing, 0.0)

    async def close(self) -> None:
        await self._checks.close()

    def _log(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._logged_at > LOG_SECONDS:
            self._logged_at = now
            log.error("Redis cannot be asked, and nobody's calls are limited: %s", error)


class _Check(NamedTuple):
    """A run of the script: its arguments, the time of arrival, and its future result."""

    arguments: _Arguments
    arrived_at: float
    result: asyncio.Future[tuple[bool, float]]


class _CheckQueue:
    """A queue of checks, sent to Redis in batches over one connection.

    One task sends and reads, and only while checks wait. So cancelling a caller leaves no reply
    unread on the connection, and there is at most one attempt to connect.
    """

    def __init__(self, url: str) -> None:
        self._connection, self._host = _make_connection(url, self._on_connect)
        self._replies: _BoundedReader | None = None
        self._connected_at = float("-inf")
        self._failed_at = float("-inf")
        self._waiting: deque[_Check] = deque()
        self._sent: list[_Check] = []
        self._sending: asyncio.Task[None] | None = None

    async def run(self, arguments: _Arguments) -> tuple[bool, float]:
        """Run the script; return whether it took the cost from all buckets.

        Also returns the seconds until the emptiest bucket is full. Raises RedisUnavailableError if
        Redis cannot be reached or too many checks wait.
        """
        loop = asyncio.get_running_loop()
        is_sending = self._sending is not None and not self._sending.done()
        if not is_sending and time.monotonic() - self._failed_at < RETRY_SECONDS:
            raise RedisUnavailableError("it failed a moment ago")
        if len(self._waiting) >= MAX_WAITING:
            raise RedisUnavailableError(f"more than {MAX_WAITING:,} checks wait")
        check = _Check(arguments, loop.time(), loop.create_future())
        self._waiting.append(check)
        if not is_sending:
            self._sending = loop.create_task(self._send_waiting(), name="accord redis")
        return await check.result

    async def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        with suppress(RedisError):
            await self._connection.disconnect()

    async def _send_waiting(self) -> None:
        """Send batches until nothing waits. A failure of the connection fails all checks."""
        why = "the connection was closed"
        try:
            while self._waiting:
                await self._connect()
                await self._send_batch()
        # ValueError and RecursionError: the package parses replies without checking them.
        except (RedisError, OSError, ValueError, RecursionError, RedisUnavailableError) as error:
            why = str(error) or f"no answer within {ANSWER_SECONDS} s"
            self._failed_at = time.monotonic()
        finally:
            if self._sent or self._waiting:
                with suppress(RedisError):
                    await self._connection.disconnect(nowait=True)
            # After the last await, so that no check arrives between this and the end of the task.
            for check in (*self._sent, *self._waiting):
                _fail(check, RedisUnavailableError(f"{self._host}: {why}"))
            self._sent = []
            self._waiting.clear()

    async def _connect(self) -> None:
        """Connect, unless there is a connection that is open and has no data unread."""
        if self._connection.is_connected:
            if not await self._connection.can_read():
                return
            await self._connection.disconnect(nowait=True)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._connection.connect()
        except TimeoutError:
            raise RedisUnavailableError(f"no connection within {CONNECT_SECONDS} s") from None
        self._connected_at = asyncio.get_running_loop().time()

    async def _on_connect(self, connection: Any) -> None:
        # The package has no limit for replies, and no public way to set one.
        self._replies = connection._reader = _BoundedReader(connection._reader)
        await connection.on_connect()

    async def _send_batch(self) -> None:
        size = min(len(self._waiting), MAX_BATCH)
        self._sent = batch = [self._waiting.popleft() for _ in range(size)]
        started_at = max(batch[0].arrived_at, self._connected_at)
        async with asyncio.timeout_at(started_at + ANSWER_SECONDS):
            unknown = await self._exchange(("EVALSHA", _HASH), batch)
            if unknown:  # Redis was restarted, or its scripts were flushed
                await self._exchange(("EVAL", SCRIPT), unknown)
        self._sent = []

    async def _exchange(self, command: tuple[str, str], batch: list[_Check]) -> list[_Check]:
        """Send a command for each check and read the replies.

        Returns the checks that failed because Redis did not have the script.
        """
        assert self._replies is not None
        self._replies.unread_bytes = MAX_REPLY_BYTES
        connection = self._connection
        packed = connection.pack_commands([(*command, *check.arguments) for check in batch])
        await connection.send_packed_command(packed, check_health=False)
        unknown = []
        for check in batch:
            try:
                reply = await connection.read_response()
            except NoScriptError:
                unknown.append(check)
            except ResponseError as error:
                _fail(check, RedisUnavailableError(str(error)))
            else:
                result = _read_answer(reply)
                if not check.result.done():  # its caller may have been cancelled
                    check.result.set_result(result)
        return unknown


class _BoundedReader:
    """A StreamReader that refuses to read more than `unread_bytes`."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.unread_bytes = MAX_REPLY_BYTES
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def read(self, limit: int) -> bytes:
        return self._counted(await self._reader.read(limit))

    async def readexactly(self, size: int) -> bytes:
        if size > self.unread_bytes:
            raise _reply_too_long()
        return self._counted(await self._reader.readexactly(size))

    async def readline(self) -> bytes:
        return self._counted(await self._reader.readline())

    def _counted(self, data: bytes) -> bytes:
        self.unread_bytes -= len(data)
        if self.unread_bytes < 0:
            raise _reply_too_long()
        return data


def _reply_too_long() -> RedisUnavailableError:
    return RedisUnavailableError(
        f"the replies to a batch exceed the limit of {MAX_REPLY_BYTES:,} bytes"
    )


def _make_connection(url: str, on_connect: object) -> tuple[Any, str]:
    """Return a connection that is not open yet, and the name of its host."""
    parts = _checked_url(url)
    make = SSLConnection if parts.scheme == "rediss" else Connection
    password = unquote(parts.password) if parts.password else None
    connection = make(
        host=parts.hostname,
        port=parts.port or DEFAULT_PORT,
        db=int(parts.path.strip("/") or 0),
        username=unquote(parts.username) if parts.username and password else None,
        password=password,
        socket_timeout=None,  # the queue has timeouts
        socket_connect_timeout=CONNECT_SECONDS,
        protocol=2,  # the older one, which every compatible server has
        driver_info=None,
        redis_connect_func=on_connect,
    )
    return connection, str(parts.hostname)


def _checked_url(url: str) -> SplitResult:
    parts = urlsplit(url)
    is_database = parts.path in ("", "/") or parts.path[1:].isdecimal()
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not is_database:
        raise ValueError("a URL of Redis is redis://[user:password@]host[:port][/database]")
    return parts


def _fail(check: _Check, error: RedisUnavailableError) -> None:
    if not check.result.done():
        check.result.set_exception(error)


def _read_answer(reply: object) -> tuple[bool, float]:
    match reply:
        case [int(taken), int(missing)]:
            return bool(taken), max(missing, 0) / _MICROSECONDS
        case _:
            raise RedisUnavailableError("the reply is not one that the script returns")
