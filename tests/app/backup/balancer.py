"""What stands before several servers: new connections go to those that say that they are ready, as a
proxy with health checks has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from urllib.parse import urlsplit

import httpx

LOOK_SECONDS = 0.1


class Balancer:
    """A port that is several."""

    def __init__(self) -> None:
        self.url = ""
        self._ready: dict[str, bool] = {}
        self._turns = count()
        self._client = httpx.AsyncClient(timeout=10.0)
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._carrying: set[asyncio.Task[None]] = set()

    async def add(self, url: str) -> None:
        """Look after one more server, and wait until it is ready."""
        became_ready = asyncio.Event()
        self._ready[url] = False
        self._looking[url] = asyncio.create_task(self._look(url, became_ready))
        await became_ready.wait()

    async def remove(self, url: str) -> None:
        self._looking[url].cancel()
        await asyncio.wait({self._looking.pop(url)})
        del self._ready[url]

    async def _look(self, url: str, became_ready: asyncio.Event) -> None:
        while True:
            try:
                answer = await self._client.get(f"{url}/readyz")
                self._ready[url] = answer.status_code == 200
                if self._ready[url]:
                    became_ready.set()
            except httpx.HTTPError:
                self._ready[url] = False
            await asyncio.sleep(LOOK_SECONDS)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        ends = [writer]
        with suppress(OSError, asyncio.CancelledError):
            to = await self._connect()
            if to is not None:
                ends.append(to[1])
                await asyncio.gather(_pipe(reader, to[1]), _pipe(to[0], writer))
        for end in ends:
            end.close()
            with suppress(OSError):
                await end.wait_closed()
        self._carrying.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        ready = [url for url, is_ready in self._ready.items() if is_ready]
        for _ in ready:
            parts = urlsplit(ready[next(self._turns) % len(ready)])
            with suppress(OSError):
                return await asyncio.open_connection(parts.hostname, parts.port)
        return None

    async def close(self) -> None:
        tasks = [*self._looking.values(), *self._carrying]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._client.aclose()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@asynccontextmanager
async def balancing() -> AsyncIterator[Balancer]:
    balancer = Balancer()
    server = await asyncio.start_server(balancer.carry, "127.0.0.1", 0)
    balancer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield balancer
    finally:
        server.close()
        await balancer.close()
