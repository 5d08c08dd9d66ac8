"""What is attacked: each door of `accord serve`, and servers of the library."""

from __future__ import annotations

import asyncio
import re
import struct
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from accord import connect
from accord.operations.auth.credentials import make_token
from tests.app.served import serving
from tests.soak.memory.crowd import MIB, Story, Target

SIZE: Final = 10_000_000
JUST_FITS: Final = MIB - 1
"""As much as a server of the library takes of one message, and one byte less."""
DOORS: Final = {
    "REST": ("/api/v1/epics", "application/json"),
    "/rpc": ("/rpc", "application/json"),
    "/a2a": ("/a2a", "application/json"),
    "/sign-in": ("/sign-in", "application/x-www-form-urlencoded"),
    "MCP": ("/api/v1/mcp", "application/json"),
    "webhooks": ("/api/v1/webhooks/any", "application/json"),
}


@asynccontextmanager
async def hub_targets(folder: Path) -> AsyncIterator[Sequence[Target]]:
    """Every door of `accord serve`."""
    async with serving(folder / "data", "--rate-limit", "0") as served:
        url = served.url
        yield [
            Target(
                f"`accord serve`: {name}",
                url,
                served.process.pid,
                _hub_stories(path, kind),
                lambda: _healthy(url),
            )
            for name, (path, kind) in DOORS.items()
        ]


@asynccontextmanager
async def library_targets() -> AsyncIterator[Sequence[Target]]:
    """A server of the library for each transport."""
    targets, processes = [], []
    try:
        for scheme, path in (("http", "/rpc"), ("ws", "/rpc"), ("tcp", "")):
            process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-m",
                    "tests.soak.memory.server",
                    f"{scheme}://127.0.0.1:0{path}",
                ),
                stdout=asyncio.subprocess.PIPE,
            )
            processes.append(process)
            assert process.stdout is not None
            url = (await process.stdout.readline()).decode().strip()
            targets.append(_library_target(scheme, url, process.pid))
        yield targets
    finally:
        for process in processes:
            process.terminate()
            await process.wait()


def _library_target(scheme: str, url: str, pid: int) -> Target:
    async def ask() -> None:
        async with connect(url) as peer:
            assert await peer.call("ping") == "pong"

    names = {"http": "HTTP", "ws": "WebSocket", "tcp": "TCP"}
    return Target(f"a server of the library: {names[scheme]}", url, pid, _stories(scheme), ask)


def _hub_stories(path: str, kind: str) -> list[Story]:
    unknown = f"Authorization: Bearer {make_token('pat')}"
    signed = f"Accord-Signature: t={int(time.time())},v1={'0' * 64}"
    length, chunked = f"Content-Length: {SIZE + 1}", "Transfer-Encoding: chunked"
    some = [(length,), (chunked,), (length, unknown), (chunked, unknown)]
    if "webhooks" in path:
        some = [(chunked, signed), (f"Content-Length: {JUST_FITS + 1}", signed)]
    return [_over_http(path, kind, lines) for lines in some]


def _over_http(path: str, kind: str, lines: Sequence[str], size: int = SIZE) -> Story:
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}", *lines, "", ""]
    chunk = b"%x\r\n" % (size + 1) if "chunked" in lines[0] else b""
    return Story("\r\n".join(head).encode() + chunk, size)


def _stories(scheme: str) -> list[Story]:
    if scheme == "http":
        chunked = ("Transfer-Encoding: chunked",)
        exact = (f"Content-Length: {JUST_FITS + 1}",)
        return [
            _over_http("/rpc", "application/json", chunked),
            _over_http("/rpc", "application/json", chunked, JUST_FITS),
            _over_http("/rpc", "application/json", exact, JUST_FITS),
        ]
    if scheme == "ws":
        return [Story(_frame(size + 1), size) for size in (SIZE, JUST_FITS)]
    return [Story(b"", SIZE), Story(b"", JUST_FITS)]


def _frame(size: int) -> bytes:
    """The header of a masked text frame, its key included."""
    return struct.pack("!BBQ", 0x81, 0x80 | 127, size) + b"\0\0\0\0"


async def _healthy(url: str) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        told = await reader.read()
    finally:
        writer.close()
    assert re.match(rb"HTTP/1\.1 200 ", told), told[:200]
