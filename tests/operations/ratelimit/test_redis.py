"""Redis as it is and as it should not be: gone, silent, strange, behind a password and TLS."""

from __future__ import annotations

import asyncio
import logging
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from accord.operations.errors import Allowance, RateLimitedError
from tests.operations.ratelimit.redis_server import command, free_port, running_redis

pytest.importorskip("redis", reason="needs accord[redis]")

from accord.operations.ratelimit import redis
from accord.operations.ratelimit.redis import RedisLimiter

FULL = Allowance(2, 2, 0, 2000)
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def limited(url: str) -> AsyncIterator[RedisLimiter]:
    limiter = RedisLimiter(url, 0.001, 2)
    try:
        yield limiter
    finally:
        await limiter.close()


@asynccontextmanager
async def fake_redis(handler: Handler, before: str = "redis://") -> AsyncIterator[RedisLimiter]:
    """A limiter whose server is `handler`."""
    async with (
        await asyncio.start_server(handler, "127.0.0.1", 0) as server,
        limited(f"{before}127.0.0.1:{server.sockets[0].getsockname()[1]}") as limiter,
    ):
        yield limiter


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
    tmp_path: Path,
    certificate: tuple[Path, Path],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, port = free_port(), free_port()
    options = [
        *("--tls-port", str(port), "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(certificate[0]), "--tls-key-file", str(certificate[1])),
        *("--tls-ca-cert-file", str(certificate[0])),
    ]
    with running_redis(plain, tmp_path, *options):
        async with limited(f"rediss://localhost:{port}") as limiter:
            assert not await is_limited(limiter, "a")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        async with limited(f"rediss://localhost:{port}") as limiter:
            assert await is_limited(limiter, "a")
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


async def test_there_is_one_attempt_to_connect_and_none_for_a_moment_after_it() -> None:
    asked = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.close()

    async with fake_redis(hang_up, "redis://:x@") as limiter:
        allowances = await asyncio.gather(*(limiter.take(("a",), 1) for _ in range(50)))
        for _ in range(20):
            allowances.append(await limiter.take(("a",), 1))
    assert allowances == [FULL] * 70
    assert asked == 1


async def test_a_lost_connection_is_noticed_before_it_is_used(tmp_path: Path) -> None:
    port = free_port()
    async with limited(f"redis://127.0.0.1:{port}") as limiter:
        for _ in range(2):
            with running_redis(port, tmp_path):
                await asyncio.sleep(0.05)
                assert await is_limited(limiter, "a")


async def test_a_script_that_was_flushed_is_sent_again(tmp_path: Path) -> None:
    port = free_port()
    with running_redis(port, tmp_path):
        async with limited(f"redis://127.0.0.1:{port}") as limiter:
            for key in ("a", "b"):
                results = await asyncio.gather(
                    *(limiter.take((key,), 1) for _ in range(9)), return_exceptions=True
                )
                assert sum(isinstance(each, Allowance) for each in results) == 2
                await command(port, b"SCRIPT FLUSH\r\n")


async def test_an_error_reply_lets_one_call_through_and_keeps_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    with running_redis(port, tmp_path):
        await command(port, b"LPUSH {accord}:rate:list x\r\n")
        async with limited(f"redis://127.0.0.1:{port}") as limiter:
            assert await limiter.take(("list",), 1) == FULL
            assert await is_limited(limiter, "a")
    assert "WRONGTYPE" in caplog.text


async def test_more_checks_than_a_batch_holds_are_all_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "MAX_BATCH", 3)
    port = free_port()
    with running_redis(port, tmp_path):
        async with limited(f"redis://127.0.0.1:{port}") as limiter:
            left = await asyncio.gather(*(limiter.take((f"{n}",), 1) for n in range(20)))
    assert left == [Allowance(2, 1, 1000, 2000)] * 20


async def test_calls_are_let_through_when_too_many_checks_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "MAX_WAITING", 3)
    port = free_port()
    with running_redis(port, tmp_path):
        async with limited(f"redis://127.0.0.1:{port}") as limiter:
            left = await asyncio.gather(*(limiter.take((f"{n}",), 1) for n in range(5)))
    assert left == [Allowance(2, 1, 1000, 2000)] * 3 + [FULL] * 2


async def test_a_caller_who_leaves_takes_no_reply_of_others(tmp_path: Path) -> None:
    port = free_port()
    with running_redis(port, tmp_path):
        async with limited(f"redis://127.0.0.1:{port}") as limiter:
            assert await is_limited(limiter, "empty")
            for _ in range(20):
                leaving = asyncio.create_task(limiter.take(("empty",), 1))
                staying = asyncio.create_task(limiter.take((), 1))
                await asyncio.sleep(0)
                leaving.cancel()
                assert await staying == Allowance(2, 1, 1000, 2000)
                await asyncio.gather(leaving, return_exceptions=True)
            with pytest.raises(RateLimitedError):
                await limiter.take(("empty",), 1)


async def test_closing_lets_waiting_calls_through() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with fake_redis(say_nothing) as limiter:
        calls = [asyncio.create_task(limiter.take(("a",), 1)) for _ in range(3)]
        await asyncio.sleep(0.05)
        await limiter.close()
        assert await asyncio.gather(*calls) == [FULL] * 3


@pytest.mark.parametrize(
    "said",
    [
        *(b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+OK\r\n", b":7\r\n:8\r\n", b"*1\r\n:1\r\n"),
        *(b"?\r\n", b"\r\n", b":x\r\n", b"$x\r\n", b"*x\r\n", b"$-5\r\n", b"*2\r\n+a\r\n$-1\r\n"),
        *(b"+" + b"x" * 70_000, b"*1\r\n" * 5_000 + b":1\r\n", b"$1\r\n\xff\r\n", b"-ERR \xff\r\n"),
        *(b"$99999999\r\n", b"*99999999\r\n", b"-LOADING wait\r\n", b"-NOAUTH who are you\r\n"),
    ],
)
async def test_something_that_is_no_redis_lets_calls_through(
    said: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redis, "ANSWER_SECONDS", 0.05)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        await reader.read()
        writer.close()

    async with fake_redis(answer) as limiter:
        assert await limiter.take(("a",), 1) == FULL
    assert [each.name for each in caplog.records] == ["accord.rates"]
    assert "the connection was closed" not in caplog.text, "the error is one that is expected"


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"$2000000000\r\n", b"x" * 65_536),
        (b"*2000000000\r\n", b":1\r\n" * 16_384),
        (b"*2000000000\r\n", b"$1000\r\n" + b"x" * 1000 + b"\r\n"),
    ],
)
async def test_a_reply_without_end_takes_no_memory(
    start: bytes, more: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(start)
        try:
            while True:
                writer.write(more)
                await writer.drain()
        except ConnectionError:
            writer.close()

    async with fake_redis(flood) as limiter:
        tracemalloc.start()
        try:
            assert await limiter.take(("a",), 1) == FULL
            assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
        finally:
            tracemalloc.stop()
    assert "exceed the limit of 65,536 bytes" in caplog.text


async def test_a_reply_that_nobody_asked_for_is_given_to_nobody() -> None:
    connections = 0

    async def answer_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.read(65_536):
            writer.write(b"*2\r\n:1\r\n:2000000\r\n*2\r\n:0\r\n:9000000\r\n")
        writer.close()

    async with fake_redis(answer_twice) as limiter:
        for _ in range(3):
            assert (await limiter.take(("a",), 1)).remaining == 1
            await asyncio.sleep(0.01)
    assert connections == 3


@pytest.mark.parametrize(
    "url", ["http://x", "redis://", "redis:///1", "redis://x/y", "redis://secret@/", "nonsense"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="a URL of Redis is") as refused:
        RedisLimiter(url, 1, 1)
    assert "secret" not in str(refused.value)
