"""An HTTP server that answers as it is told, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from accord.a2a.protocol.addresses import AddressPolicy

LOCAL = AddressPolicy(allow_private=True)
HANG = b"hang"
"""Answered by saying nothing."""


class Asked(Struct, frozen=True):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Scripted:
    def __init__(self, answers: Sequence[bytes]) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.url = ""
        self._came = asyncio.Condition()

    async def wait(self, count: int) -> list[Asked]:
        """All requests, once there are so many."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.asked) >= count)
        return self.asked

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await read_asked(reader)
                async with self._came:
                    self.asked.append(asked)
                    self._came.notify_all()
                answer = self.answers.pop(0) if self.answers else b""
                if answer == HANG:
                    await reader.read()
                writer.write(answer)
                await writer.drain()
                if not answer or b"connection: close" in answer:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def read_asked(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


def http(
    body: Any, *, status: int = 200, headers: str = "", kind: str = "application/json"
) -> bytes:
    """A response; what is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n{headers}\r\n"
    return head.encode() + data


def result(value: Any, id: str = "t-1") -> bytes:
    return http({"jsonrpc": "2.0", "id": id, "result": value})


def failed(
    code: int, message: str, *, id: str | None = "t-1", status: int = 200, headers: str = ""
) -> bytes:
    body = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
    return http(body, status=status, headers=headers)


def events(*results: Any, id: str = "t-1", cut: bool = False) -> bytes:
    """A stream of answers."""
    data = b"".join(
        b": hello\n\ndata: "
        + json.dumps({"jsonrpc": "2.0", "id": id, "result": each}).encode()
        + b"\n\n"
        for each in results
    )
    length = len(data) + (100 if cut else 0)
    head = f"HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    return head.encode() + data


@asynccontextmanager
async def scripted(*answers: bytes) -> AsyncIterator[Scripted]:
    """A server that gives these answers, one after the other, and then ends connections."""
    agent = Scripted(answers)
    server = await asyncio.start_server(agent.connected, "127.0.0.1", 0)
    agent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield agent
    finally:
        server.close()
        await asyncio.sleep(0)
