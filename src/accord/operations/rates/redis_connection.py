"""One connection to Redis, or to what speaks as it does, which is made again when it is lost.

Commands are sent at once and answered in order; whoever waits for an answer waits for
`ANSWER_SECONDS` at most. After a failure nobody tries to connect for `RETRY_SECONDS`.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from accord.operations.rates.resp import Replies, Reply, ReplyError, RespError, command

CONNECT_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0
MAX_WAITING: Final = 10_000
PORT: Final = 6379


class RedisError(Exception):
    """Redis cannot be asked."""


class RedisConnection:
    """A connection by URL: `redis://[user:password@]host[:port][/database]`, or `rediss://` for
    TLS. Raises ValueError for another."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._url = _checked(url)
        self._tls = tls
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._connecting = asyncio.Lock()
        self._failed_at = float("-inf")

    async def ask(self, *words: str | bytes | int | float) -> Reply:
        """The answer to a command. Raises RedisError, and ReplyError for an answer that is one."""
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
            except (OSError, ReplyError, RedisError) as error:
                self._failed_at = time.monotonic()
                await self.close()
                raise RedisError(f"cannot connect to {self._url.hostname}: {error}") from error

    async def _connect_now(self) -> None:
        tls = (self._tls or ssl.create_default_context()) if self._url.scheme == "rediss" else None
        reader, writer = await asyncio.open_connection(
            self._url.hostname, self._url.port or PORT, ssl=tls
        )
        self._reading = asyncio.create_task(self._read(reader, writer), name="accord redis")
        self._writer = writer
        if self._url.password is not None:
            user = (unquote(self._url.username),) if self._url.username else ()
            await self._ask("AUTH", *user, unquote(self._url.password))
        if database := self._url.path.strip("/"):
            await self._ask("SELECT", database)

    async def _ask(self, *words: str | bytes | int | float) -> Reply:
        if self._writer is None:
            raise RedisError("the connection was lost")
        if len(self._waiting) >= MAX_WAITING:
            raise RedisError(f"more than {MAX_WAITING:,} commands wait for an answer")
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._writer.write(command(*words))
        try:
            reply = await asyncio.wait_for(answer, ANSWER_SECONDS)
        except TimeoutError:
            # Others are not kept waiting for the same silence.
            self._failed_at = time.monotonic()
            await self.close()
            raise RedisError(f"no answer within {ANSWER_SECONDS} s") from None
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies = Replies()
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


def _checked(url: str) -> SplitResult:
    parts = urlsplit(url)
    is_database = parts.path in ("", "/") or parts.path[1:].isdecimal()
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not is_database:
        raise ValueError("a URL of Redis is redis://[user:password@]host[:port][/database]")
    return parts
