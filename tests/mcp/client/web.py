"""An HTTP server that does what a test says, right or wrong: every request is handed over as it
came, and answered with bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.patience import PATIENCE

DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
    "ttlMs": 0,
    "cacheScope": "public",
}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
    "serverInfo": {"name": "web", "version": "1"},
}


class Request:
    """One request, and the way to answer it."""

    def __init__(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
        writer: asyncio.StreamWriter,
        ended: asyncio.Event,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.message: dict[str, Any] = json.loads(body) if body else {}
        self._writer = writer
        self._ended = ended

    @property
    def rpc(self) -> str:
        """The JSON-RPC method, or the HTTP method where there is none."""
        return str(self.message.get("method", self.method))

    async def reply(
        self, status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        fields = {"content-length": str(len(body)), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._writer.write(f"HTTP/1.1 {status} Some\r\n{lines}\r\n".encode() + body)
        await self._writer.drain()

    async def result(self, result: Any, **headers: str) -> None:
        message = {"jsonrpc": "2.0", "id": self.message["id"], "result": result}
        await self.json(200, message, **headers)

    async def error(self, status: int, code: int, data: Any = None, **headers: str) -> None:
        error = {"code": code, "message": "refused", "data": data}
        await self.json(status, {"jsonrpc": "2.0", "id": self.message["id"], "error": error})

    async def json(self, status: int, message: Any, **headers: str) -> None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields = {"content-type": "application/json", **fields}
        await self.reply(status, json.dumps(message).encode(), fields)

    async def raw(self, data: bytes, *, end: bool = True) -> None:
        """Send bytes that may be no answer at all, and end the connection."""
        self._writer.write(data)
        await self._writer.drain()
        if end:
            self._writer.close()

    async def stream(self) -> Stream:
        """Begin an answer that is a stream of events."""
        self._writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        await self._writer.drain()
        return Stream(self._writer, self._ended)


class Stream:
    def __init__(self, writer: asyncio.StreamWriter, ended: asyncio.Event) -> None:
        self._writer = writer
        self._ended = ended

    async def send(self, message: Any = None, **fields: Any) -> None:
        data = "" if message is None else json.dumps(message)
        lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
        await self.raw(f"{lines}data: {data}\n\n".encode())

    async def raw(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def cut(self) -> None:
        """End the connection in the middle of the stream."""
        self._writer.transport.abort()

    async def closed(self) -> None:
        """Wait until the client has ended the connection."""
        async with asyncio.timeout(PATIENCE):
            await self._ended.wait()


Handle = Callable[[Request], Awaitable[None]]


class Web:
    """The server, and what it was asked."""

    def __init__(self, handle: Handle) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self._handle = handle
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asked = asyncio.Event()

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait until what was asked is enough."""
        async with asyncio.timeout(PATIENCE):
            while not enough():
                self._asked.clear()
                await self._asked.wait()

    def rpcs(self) -> list[str]:
        return [request.rpc for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ended = asyncio.Event()
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *rest = head.rstrip().split("\r\n")
                method, target, _ = line.split()
                headers = {
                    name.strip().lower(): value.strip()
                    for name, _, value in (field.partition(":") for field in rest)
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                request = Request(method, target, headers, body, writer, ended)
                self.requests.append(request)
                self._asked.set()
                await self._handle(request)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            ended.set()
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.close()

    def end(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()
        for task in tuple(self._tasks):
            task.cancel()


@asynccontextmanager
async def web(handle: Handle) -> AsyncIterator[Web]:
    served = Web(handle)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        yield served
    finally:
        server.close()
        served.end()
        await asyncio.sleep(0)


def stateless(methods: Mapping[str, Handle]) -> Handle:
    """A server of the stateless era with these methods."""

    async def handle(request: Request) -> None:
        if request.rpc in methods:
            await methods[request.rpc](request)
        elif request.rpc == "server/discover":
            await request.result(DISCOVERED)
        else:
            await request.error(404, -32601)

    return handle


def sessions(methods: Mapping[str, Handle]) -> Handle:
    """A server of the handshake era, whose sessions are s1, s2, …"""
    count = 0

    async def handle(request: Request) -> None:
        nonlocal count
        if request.rpc in methods:
            await methods[request.rpc](request)
        elif request.rpc == "initialize":
            count += 1
            await request.result(INITIALIZED, mcp_session_id=f"s{count}")
        elif request.rpc.startswith("notifications/") or request.method == "DELETE":
            await request.reply(202)
        elif request.method == "GET":
            await request.reply(405)
        else:
            await request.reply(400)

    return handle
