"""A mounted server ends with its web application, whichever signal stops uvicorn, and does not
keep it from ending."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.mcp.server.http.service import ACCEPT, PATIENCE, initialize, notification, request

PROGRAM = Path(__file__).with_name("mounted_program.py")
SIGNALS = [signal.SIGTERM, signal.SIGINT]


class Program:
    """The program, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._said: list[str] = []

    async def line(self) -> str:
        """The next thing that it says."""
        return self._said.pop(0) if self._said else await self._read()

    async def port(self) -> int:
        """Where it listens; what it says before stays to be read."""
        while not (line := await self._read()).startswith("port "):
            assert line, "it has ended"
            self._said.append(line)
        return int(line.removeprefix("port "))

    async def _read(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return (await self.process.stdout.readline()).decode().strip()

    async def rest(self) -> list[str]:
        """All that it says until it ends."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            said = await self.process.stdout.read()
            await self.process.wait()
        return said.decode().split("\n")[:-1]


@asynccontextmanager
async def running(kind: str, loop: str = "asyncio") -> AsyncIterator[tuple[Program, str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), kind, loop, stdout=asyncio.subprocess.PIPE
    )
    program = Program(process)
    try:
        yield program, f"http://127.0.0.1:{await program.port()}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def session(client: httpx.AsyncClient, url: str) -> dict[str, str]:
    answer = await client.post(url, json=initialize(), headers=ACCEPT)
    headers = {**ACCEPT, "mcp-session-id": answer.headers["mcp-session-id"]}
    await client.post(url, json=notification("notifications/initialized"), headers=headers)
    return headers


def ending(number: signal.Signals) -> tuple[list[str], int]:
    """What the process says after its end, and the status that it ends with."""
    return ([], -number) if number == signal.SIGTERM else (["returned"], 0)


@pytest.mark.req("M-20")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("kind", "loop"), [("starlette", "asyncio"), ("fastapi", "uvloop"), ("alone", "asyncio")]
)
async def test_the_lifespan_ends_on_either_signal(
    kind: str, number: signal.Signals, loop: str
) -> None:
    async with running(kind, loop) as (program, url), httpx.AsyncClient() as client:
        await session(client, f"{url}/mcp")
        assert await program.line() == "began"
        program.process.send_signal(number)
        said, status = ending(number)
        outer = [] if kind == "alone" else ["outer ended"]
        assert await program.rest() == ["ended", *outer, *said]
        assert program.process.returncode == status


@pytest.mark.req("M-20")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("kind", "stream"),
    [
        ("starlette", "announcements"),
        ("alone", "announcements"),
        ("fastapi", "call"),
        ("starlette", "sse"),
    ],
)
async def test_open_streams_do_not_keep_the_application_from_ending(
    kind: str, stream: str, number: signal.Signals
) -> None:
    async with running(kind) as (program, url), httpx.AsyncClient(timeout=PATIENCE) as client:
        headers = await session(client, f"{url}/mcp")
        assert await program.line() == "began"
        call = request("tools/call", {"name": "wait", "arguments": {}}, id=7)
        opened = {
            "announcements": client.stream("GET", f"{url}/mcp", headers=headers),
            "call": client.stream("POST", f"{url}/mcp", headers=headers, json=call),
            "sse": client.stream("GET", f"{url}/mcp/sse", headers=ACCEPT),
        }[stream]
        if stream == "call":
            held = asyncio.create_task(client.post(f"{url}/mcp", headers=headers, json=call))
            assert await program.line() == "waiting"
            program.process.send_signal(number)
            assert (await held).status_code in (200, 429)
            expected = ["stopped waiting", "ended"]
        else:
            async with opened as response:
                assert response.status_code == 200
                program.process.send_signal(number)
                async with asyncio.timeout(PATIENCE):
                    await response.aread()
            expected = ["ended"]
        said, status = ending(number)
        outer = [] if kind == "alone" else ["outer ended"]
        assert await program.rest() == [*expected, *outer, *said]
        assert program.process.returncode == status


@pytest.mark.parametrize("number", SIGNALS)
async def test_two_mounted_servers_both_end(number: signal.Signals) -> None:
    async with running("two") as (program, url), httpx.AsyncClient() as client:
        for path in ("/mcp", "/two/mcp"):
            await session(client, url + path)
            assert await program.line() == "began"
        program.process.send_signal(number)
        said, status = ending(number)
        assert await program.rest() == ["ended", "ended", "outer ended", *said]
        assert program.process.returncode == status


async def test_a_second_signal_does_not_wait() -> None:
    async with running("starlette") as (program, url), httpx.AsyncClient() as client:
        headers = await session(client, f"{url}/mcp")
        assert await program.line() == "began"
        call = request("tools/call", {"name": "wait", "arguments": {}}, id=7)
        held = asyncio.create_task(client.post(f"{url}/mcp", headers=headers, json=call))
        assert await program.line() == "waiting"
        for _ in range(3):
            program.process.send_signal(signal.SIGINT)
        await program.rest()
        await asyncio.gather(held, return_exceptions=True)


async def test_without_a_request_there_is_nothing_to_end() -> None:
    async with running("starlette") as (program, _):
        program.process.send_signal(signal.SIGTERM)
        assert await program.rest() == ["outer ended"]
        assert program.process.returncode == -signal.SIGTERM
