"""A connection to a server that does little itself, so that many fit into one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tests.patience import PATIENCE as PATIENCE

_numbers = count(1)


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    json: Any


class Line:
    """One connection, with one request at a time; another one is made where the server closes it
    with an answer. Raises OSError and EOFError where it breaks."""

    def __init__(self, url: str, token: str) -> None:
        self._address = urlsplit(url)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.token = token

    async def ask(self, verb: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request of REST; `path` is below its root."""
        return await self._ask(verb, f"/api/v1{path}", body, headers)

    async def tool(self, name: str, **arguments: Any) -> Answer:
        """One call of a tool, by plain JSON-RPC."""
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return await self._ask("POST", "/api/v1/mcp", message, {})

    async def _ask(self, verb: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        content = b"" if body is None else msgspec.json.encode(body)
        lines = {
            "host": self._address.netloc,
            "authorization": f"Bearer {self.token}",
            "accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        if body is not None:
            lines |= {"content-type": "application/json", "content-length": str(len(content))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        async with asyncio.timeout(PATIENCE):
            reader, writer = await self.connect()
            writer.write(f"{verb} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
            await writer.drain()
            answer = await _read(reader)
        if answer.headers.get("connection") == "close":
            await self.close()
        return answer

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            address = self._address
            self._streams = await asyncio.open_connection(address.hostname, address.port)
        return self._streams

    async def close(self) -> None:
        if self._streams is None:
            return
        _, writer = self._streams
        self._streams = None
        writer.close()
        try:
            await writer.wait_closed()
        except OSError:  # it was broken before
            pass


async def _read(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    content = await reader.readexactly(int(fields.get("content-length", 0)))
    return Answer(int(head[0].split()[1]), fields, msgspec.json.decode(content or b"null"))


@asynccontextmanager
async def lines(url: str, token: str, number: int) -> AsyncIterator[list[Line]]:
    """So many connections."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(number):
            found.append(Line(url, token))
            stack.push_async_callback(found[-1].close)
            await found[-1].connect()
        yield found


def unique(word: str) -> str:
    """A text that nobody used before in this process."""
    return f"{word}-{next(_numbers)}"
