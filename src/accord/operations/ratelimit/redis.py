"""Token buckets in Redis or a compatible server (Valkey, KeyDB, Dragonfly).

One script takes from all buckets of a call or from none, by the clock of Redis. While Redis cannot
be reached, calls are let through and the log says so.

RESP2, as far as rate limits need it, is implemented here. Commands are sent at once and answered in
order; a caller waits for `ANSWER_SECONDS` at most. After a failure no connection is tried for
`RETRY_SECONDS`. Replies come from another program, so their length and depth are bounded.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import deque
from contextlib import suppress
from hashlib import sha1
from typing import Final, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from accord.operations.errors import Allowance
from accord.operations.ratelimit.bucket import checked_bucket

RedisReply: TypeAlias = "int | bytes | None | list[RedisReply] | RedisReplyError"

MAX_REPLY: Final = 64 * 1024
MAX_DEPTH: Final = 4


class RedisReplyError(Exception):
    """An error that the server answered with; the text says which."""


class RespError(Exception):
    """The bytes are no valid reply."""


class _IncompleteReplyError(Exception):
    pass


def encode_command(*words: str | bytes | int | float) -> bytes:
    """Return the bytes of a command."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        raw = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(raw), raw))
    return b"".join(parts)


class ReplyParser:
    """A parser of replies from a stream of bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[RedisReply]:
        """Return the replies that `data` completes. Raises RespError for invalid bytes."""
        self._buffer += data
        found: list[RedisReply] = []
        place = 0
        try:
            while place < len(self._buffer):
                reply, place = self._read(place, 0)
                found.append(reply)
        except _IncompleteReplyError:
            pass
        del self._buffer[:place]
        if len(self._buffer) > MAX_REPLY:
            raise RespError(f"a reply is over the limit of {MAX_REPLY:,} bytes")
        return found

    def _read(self, place: int, depth: int) -> tuple[RedisReply, int]:
        line, after = self._line(place)
        kind, rest = line[:1], line[1:]
        match kind:
            case b"+":
                return rest, after
            case b"-":
                return RedisReplyError(rest.decode(errors="replace")), after
            case b":":
                return _number(rest), after
            case b"$":
                return self._text(_number(rest), after)
            case b"*" if depth < MAX_DEPTH:
                return self._list(_number(rest), after, depth)
            case _:
                raise RespError(f"{line[:20]!r} begins no reply")

    def _line(self, place: int) -> tuple[bytes, int]:
        end = self._buffer.find(b"\r\n", place)
        if end < 0:
            raise _IncompleteReplyError
        return bytes(self._buffer[place:end]), end + 2

    def _text(self, length: int, place: int) -> tuple[RedisReply, int]:
        if length < 0:
            return None, place
        end = place + length
        if end + 2 > len(self._buffer):
            if length > MAX_REPLY:
                raise RespError(f"a reply is over the limit of {MAX_REPLY:,} bytes")
            raise _IncompleteReplyError
        return bytes(self._buffer[place:end]), end + 2

    def _list(self, length: int, place: int, depth: int) -> tuple[RedisReply, int]:
        if length < 0:
            return None, place
        if length > MAX_REPLY:
            raise RespError(f"a reply is over the limit of {MAX_REPLY:,} bytes")
        items: list[RedisReply] = []
        for _ in range(length):
            item, place = self._read(place, depth + 1)
            items.append(item)
        return items, place


def _number(text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise RespError(f"{text[:20]!r} is no number") from None


CONNECT_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0
MAX_PENDING_COMMANDS: Final = 10_000
DEFAULT_PORT: Final = 6379


class RedisError(Exception):
    """Redis cannot be reached, or did not answer properly."""


class RedisConnection:
    """A connection to a URL: `redis://[user:password@]host[:port][/database]`.

    `rediss://` uses TLS. Raises ValueError for any other URL.
    """

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._url = _checked_url(url)
        self._tls = tls
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[asyncio.Future[RedisReply]] = deque()
        self._connecting = asyncio.Lock()
        self._failed_at = float("-inf")

    async def ask(self, *words: str | bytes | int | float) -> RedisReply:
        """Return the reply to a command.

        Raises RedisError, and RedisReplyError for an error reply.
        """
        if self._writer is None:
            await self._connect()
        return await self._ask(*words)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _connect(self) -> None:
        async with self._connecting:
            if self._writer is not None:
                return
            if time.monotonic() - self._failed_at < RETRY_SECONDS:
                raise RedisError("it could not be reached a moment ago")
            try:
                await asyncio.wait_for(self._connect_now(), CONNECT_SECONDS)
            except (OSError, RedisReplyError, RedisError) as error:
                self._failed_at = time.monotonic()
                await self.close()
                raise RedisError(f"cannot connect to {self._url.hostname}: {error}") from error

    async def _connect_now(self) -> None:
        tls = (self._tls or ssl.create_default_context()) if self._url.scheme == "rediss" else None
        reader, writer = await asyncio.open_connection(
            self._url.hostname, self._url.port or DEFAULT_PORT, ssl=tls
        )
        self._reading = asyncio.create_task(self._read(reader, writer), name="accord redis")
        self._writer = writer
        if self._url.password is not None:
            user = (unquote(self._url.username),) if self._url.username else ()
            await self._ask("AUTH", *user, unquote(self._url.password))
        if database := self._url.path.strip("/"):
            await self._ask("SELECT", database)

    async def _ask(self, *words: str | bytes | int | float) -> RedisReply:
        if self._writer is None:
            raise RedisError("the connection was lost")
        if len(self._waiting) >= MAX_PENDING_COMMANDS:
            raise RedisError(f"more than {MAX_PENDING_COMMANDS:,} commands wait for an answer")
        answer: asyncio.Future[RedisReply] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._writer.write(encode_command(*words))
        try:
            reply = await asyncio.wait_for(answer, ANSWER_SECONDS)
        except TimeoutError:
            # Others are not kept waiting for the same silence.
            self._failed_at = time.monotonic()
            await self.close()
            raise RedisError(f"no answer within {ANSWER_SECONDS} s") from None
        if isinstance(reply, RedisReplyError):
            raise reply
        return reply

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies = ReplyParser()
        try:
            while data := await reader.read(65_536):
                for reply in replies.feed(data):
                    # Whoever waited for too long has left, but the answer is still theirs.
                    answer = self._waiting.popleft()
                    if not answer.done():
                        answer.set_result(reply)
        except (OSError, RespError, IndexError):
            pass
        finally:
            self._writer = None
            for answer in self._waiting:
                if not answer.done():
                    answer.set_exception(RedisError("the connection was lost"))
            self._waiting.clear()
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def _checked_url(url: str) -> SplitResult:
    parts = urlsplit(url)
    is_database = parts.path in ("", "/") or parts.path[1:].isdecimal()
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not is_database:
        raise ValueError("a URL of Redis is redis://[user:password@]host[:port][/database]")
    return parts


log = logging.getLogger("accord.rates")

PREFIX: Final = "{accord}:rate:"
"""The prefix of all keys; the braces put them on one node of a cluster."""
LOG_SECONDS: Final = 30.0
"""Minimum time between two log lines about an unreachable Redis."""

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
    """A limiter in Redis; implements `Limiter`.

    Raises ValueError for an invalid URL, and if rate or burst is not positive.
    """

    def __init__(
        self, url: str, rate: float, burst: int, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self._bucket = checked_bucket(rate, burst)
        self._connection = RedisConnection(url, tls=tls)
        self._logged_at = float("-inf")

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each key; return the lowest allowance.

        Raises RateLimitedError, and takes nothing, if one of them has less.
        """
        try:
            taken, missing = await self._run(keys, cost)
        except (RedisError, RedisReplyError) as error:
            self._say(error)
            return self._bucket.allowance(0.0, 0.0)
        if not taken:
            raise self._bucket.refusal(missing, cost, 0.0)
        return self._bucket.allowance(missing, 0.0)

    async def close(self) -> None:
        await self._connection.close()

    async def _run(self, keys: tuple[str, ...], cost: int) -> tuple[bool, float]:
        """Run the script.

        Returns whether it took, and the seconds until the emptiest bucket is full.
        """
        words: tuple[str | int, ...] = (
            len(keys),
            *(PREFIX + key for key in keys),
            round(cost / self._bucket.rate * _MICROSECONDS),
            round(self._bucket.window * _MICROSECONDS),
        )
        try:
            reply = await self._connection.ask("EVALSHA", _HASH, *words)
        except RedisReplyError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            reply = await self._connection.ask("EVAL", SCRIPT, *words)
        return _read_answer(reply)

    def _say(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._logged_at > LOG_SECONDS:
            self._logged_at = now
            log.error("Redis cannot be asked, and nobody's calls are limited: %s", error)


def _read_answer(reply: RedisReply) -> tuple[bool, float]:
    match reply:
        case [int(taken), int(missing)]:
            return bool(taken), max(missing, 0) / _MICROSECONDS
        case _:
            raise RedisError("it gave an answer that the script does not give")
