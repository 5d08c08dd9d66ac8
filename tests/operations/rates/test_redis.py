"""Redis as it is and as it should not be: gone, silent, strange, behind a password and TLS."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from accord.operations.errors import Allowance, RateLimitedError
from accord.operations.ratelimit import redis
from accord.operations.ratelimit.redis import (
    RedisLimiter,
    RedisReply,
    RedisReplyError,
    ReplyParser,
    RespError,
    encode_command,
)
from tests.operations.rates.redis_server import free_port, running_redis

FULL = Allowance(2, 2, 0, 2000)


@asynccontextmanager
async def limited(url: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[RedisLimiter]:
    limiter = RedisLimiter(url, 0.001, 2, tls=tls)
    try:
        yield limiter
    finally:
        await limiter.close()


async def is_limited(limiter: RedisLimiter, key: str) -> bool:
    await limiter.take((key,), 2)
    try:
        await limiter.take((key,), 1)
    except RateLimitedError:
        return True
    return False


async def test_a_password_and_a_name_are_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    with running_redis(port, tmp_path, "--requirepass", "s3cret/word"):
        async with limited(f"redis://:s3cret%2Fword@127.0.0.1:{port}") as limiter:
            assert await is_limited(limiter, "a")
        async with limited(f"redis://default:s3cret%2Fword@127.0.0.1:{port}/1") as limiter:
            assert await is_limited(limiter, "a")
        async with limited(f"redis://:wr0ng@127.0.0.1:{port}") as limiter:
            assert await limiter.take(("a",), 1) == FULL
    assert "nobody's calls are limited" in caplog.text
    assert "wr0ng" not in caplog.text


async def test_tls_is_used_and_checked(
    tmp_path: Path, certificate: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    plain, port = free_port(), free_port()
    options = [
        *("--tls-port", str(port), "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(certificate[0]), "--tls-key-file", str(certificate[1])),
        *("--tls-ca-cert-file", str(certificate[0])),
    ]
    with running_redis(plain, tmp_path, *options):
        trusting = ssl.create_default_context(cafile=str(certificate[0]))
        async with limited(f"rediss://localhost:{port}", trusting) as limiter:
            assert await is_limited(limiter, "a")
        async with limited(f"rediss://localhost:{port}") as limiter:
            assert not await is_limited(limiter, "a")
    assert "certificate" in caplog.text


async def test_calls_are_let_through_without_redis_and_limited_again_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "RETRY_SECONDS", 0.0)
    caplog.set_level(logging.ERROR, "accord.rates")
    port = free_port()
    async with limited(f"redis://127.0.0.1:{port}") as limiter:
        for _ in range(5):
            assert await limiter.take(("a",), 1) == FULL
        assert len(caplog.records) == 1
        for _ in range(2):
            with running_redis(port, tmp_path):
                assert await is_limited(limiter, "a")
            assert not await is_limited(limiter, "a")


async def test_nobody_waits_for_a_redis_that_could_not_be_reached_a_moment_ago() -> None:
    asked = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.close()

    async with (
        await asyncio.start_server(hang_up, "127.0.0.1", 0) as server,
        limited(f"redis://:x@127.0.0.1:{server.sockets[0].getsockname()[1]}") as limiter,
    ):
        for _ in range(20):
            assert await limiter.take(("a",), 1) == FULL
    assert asked == 1


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+OK\r\n", b":7\r\n:8\r\n", b"*1\r\n:1\r\n"]
)
async def test_something_that_is_no_redis_lets_calls_through(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "ANSWER_SECONDS", 0.05)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        await reader.read()
        writer.close()

    async with (
        await asyncio.start_server(answer, "127.0.0.1", 0) as server,
        limited(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as limiter,
    ):
        assert await limiter.take(("a",), 1) == FULL


@pytest.mark.parametrize(
    "url", ["http://x", "redis://", "redis:///1", "redis://x/y", "redis://secret@/", "nonsense"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="a URL of Redis is") as refused:
        RedisLimiter(url, 1, 1)
    assert "secret" not in str(refused.value)


# The protocol


def test_a_command_is_a_list_of_texts() -> None:
    assert encode_command("SET", "ä", 1) == b"*3\r\n$3\r\nSET\r\n$2\r\n\xc3\xa4\r\n$1\r\n1\r\n"


REPLIES: list[tuple[bytes, RedisReply]] = [
    (b"+OK\r\n", b"OK"),
    (b":-7\r\n", -7),
    (b"$5\r\na\r\nbc\r\n", b"a\r\nbc"),
    (b"$0\r\n\r\n", b""),
    (b"$-1\r\n", None),
    (b"*-1\r\n", None),
    (b"*0\r\n", []),
    (b"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n", [1, [b"x"], None]),
]


@pytest.mark.parametrize(("raw", "reply"), REPLIES)
def test_replies_are_read_whole_and_byte_by_byte(raw: bytes, reply: RedisReply) -> None:
    assert ReplyParser().feed(raw + raw) == [reply, reply]
    replies = ReplyParser()
    found = [each for byte in raw + raw for each in replies.feed(bytes([byte]))]
    assert found == [reply, reply]


def test_an_error_is_a_reply() -> None:
    [found] = ReplyParser().feed(b"-NOSCRIPT No matching script\r\n")
    assert isinstance(found, RedisReplyError)
    assert str(found) == "NOSCRIPT No matching script"


@pytest.mark.parametrize(
    "raw",
    [
        *(b"?\r\n", b"\r\n", b":x\r\n", b"$x\r\n", b"$99999999\r\n", b"*99999999\r\n"),
        *(b"+" + b"x" * 70_000, b"*1\r\n" * 9 + b":1\r\n"),
    ],
)
def test_what_can_be_no_reply_is_refused(raw: bytes) -> None:
    with pytest.raises(RespError):
        ReplyParser().feed(raw)
