"""Rate limits in Redis: our batches on one connection of `redis`, and a pool of it."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Awaitable, Callable

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from accord.operations.ratelimit.redis import PREFIX, SCRIPT, RedisLimiter
from benchmarks.libraries.figures import import_cost, micro_async, show, versions

CHECKS = 2_000
RATE, BURST = 1e6, 10**9


async def measure(take: Callable[[tuple[str, ...]], Awaitable[object]]) -> list[tuple[str, object]]:
    """The cost of checks one after the other, and of 50 at a time, with two buckets each."""

    def together(callers: int) -> Callable[[int], Awaitable[object]]:
        async def call(key: str, count: int) -> None:
            for _ in range(count):
                await take((key, "user:1"))

        async def operate(count: int) -> None:
            each = max(1, count // callers)
            await asyncio.gather(*(call(f"token:{n}", each) for n in range(callers)))

        return operate

    return [
        (f"{callers} at a time, µs", await micro_async(together(callers), CHECKS))
        for callers in (1, 50)
    ]


async def ours(url: str) -> None:
    limiter = RedisLimiter(url, RATE, BURST)
    show("ours, batches on one connection", await measure(lambda keys: limiter.take(keys, 1)))
    await limiter.close()


async def pooled(url: str) -> None:
    pool = BlockingConnectionPool.from_url(
        url, max_connections=50, protocol=2, retry=Retry(NoBackoff(), 0), socket_timeout=None
    )
    client = Redis(connection_pool=pool)
    digest = await client.script_load(SCRIPT)

    async def take(keys: tuple[str, ...]) -> None:
        async with asyncio.timeout(0.5):
            words = (*(PREFIX + key for key in keys), 1, 1_000_000)
            await client.evalsha(digest, len(keys), *words)

    show("redis, a pool of 50 connections", await measure(take))
    await client.aclose()
    await pool.aclose()


def main() -> None:
    versions("redis")
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    assert program is not None, "needs redis-server"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        next(line for line in server.stdout if "Ready to accept" in line)
        try:
            asyncio.run(ours(f"redis://127.0.0.1:{port}"))
            asyncio.run(pooled(f"redis://127.0.0.1:{port}"))
        finally:
            server.kill()
    show("import", [("redis.asyncio", import_cost("import redis.asyncio"))])


main()
