"""Real processes behind one port, and clients that are connected to a certain one of them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
from msgspec.structs import replace

from tests.mcp.server.http.service import PATIENCE, Reply, Shaken, Site
from tests.plain_http import NO_TLS

PROGRAM = Path(__file__).with_name("program.py")
MOST_ATTEMPTS = 200


class Workers:
    """Two processes that share a port."""

    def __init__(self, url: str, process: Process, stack: AsyncExitStack) -> None:
        self.url = url
        self.process = process
        self.pids: list[int] = []
        self._stack = stack

    async def find(self) -> None:
        """Find out who serves."""
        for _ in range(MOST_ATTEMPTS):
            _, pid = await self._connect()
            if pid not in self.pids:
                self.pids.append(pid)
            if len(self.pids) == 2:
                return
        raise AssertionError(f"only {self.pids} answer")

    async def at(self, number: int) -> Site:
        """A client with one connection, which leads to the worker of that number."""
        for _ in range(MOST_ATTEMPTS):
            site, pid = await self._connect()
            if pid == self.pids[number]:
                return site
        raise AssertionError(f"worker {number} does not answer")

    async def move(self, shaken: Shaken, number: int) -> Shaken:
        """The same session over a new connection, to the worker of that number."""
        return replace(shaken, site=await self.at(number))

    def kill(self, number: int) -> None:
        os.kill(self.pids[number], signal.SIGKILL)

    async def _connect(self) -> tuple[Site, int]:
        limits = httpx.Limits(max_connections=1, keepalive_expiry=None)
        client = httpx.AsyncClient(timeout=PATIENCE, limits=limits, verify=NO_TLS)
        await self._stack.enter_async_context(client)
        site = Site(self.url, cast(Any, None), client)
        pid = (await site.call_modern("who")).json["result"]["structuredContent"]
        return site, int(pid)


@asynccontextmanager
async def running(*flags: str) -> AsyncIterator[Workers]:
    """`accord mcp run … --workers 2` with the program of these tests."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "accord", "mcp", "run", str(PROGRAM),
        "--http", "127.0.0.1:0/mcp", "--workers", "2", *flags,
        stdout=PIPE, stderr=PIPE, start_new_session=True,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        try:
            assert process.stdout is not None
            line = (await process.stdout.readline()).decode()
            assert line.startswith("shop listening on "), await process.communicate()
            workers = Workers(line.split()[3], process, stack)
            await workers.find()
            yield workers
        finally:
            await _end(process)


class Held:
    """What a tool waits for."""

    def __init__(self, folder: Path, name: str = "held") -> None:
        self._path = folder / name

    @property
    def file(self) -> str:
        return str(self._path)

    def release(self, text: str = "let go") -> None:
        """Let the tool go on, with this result."""
        written = self._path.with_suffix(".new")
        written.write_text(text)
        written.rename(self._path)


def text(reply: Reply) -> str:
    """The text of a tool's result."""
    return str(reply.json["result"]["content"][0]["text"])


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.communicate(), PATIENCE)
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        raise
