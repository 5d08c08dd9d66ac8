"""What the ASGI tests serve and with what: a router, a real server, and a bare ASGI caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from msgspec import Struct

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.router import Router
from accord.transports.asgi.scope import Event
from accord.transports.pages import Page, etag_of
from tests.patience import PATIENCE as PATIENCE
from tests.transports.http.service import RawClient


class Service:
    """Methods of each kind, and what happened to the slow one."""

    def __init__(self) -> None:
        self.router = Router()
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.release = asyncio.Event()
        self.contexts: list[Context] = []
        for function in (self.add, self.echo, self.hold, self.soon, self.look):
            self.router.add(function)
        self.router.add(self.add, "add_in_thread", thread=True)

    def add(self, a: int, b: int) -> int:
        return a + b

    def echo(self, value: Any) -> Any:
        return value

    async def soon(self, value: Any) -> Any:
        await asyncio.sleep(0)
        return value

    async def hold(self) -> str:
        """Runs until it is released or cancelled."""
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "released"

    def look(self, context: Context) -> None:
        self.contexts.append(context)


class Answer(Struct, frozen=True):
    """What an application sent."""

    status: int
    headers: dict[str, str]
    body: bytes


async def ask(
    app: Any,
    *bodies: bytes,
    method: str = "POST",
    path: str = "/",
    headers: Iterable[tuple[bytes, bytes]] = ((b"content-type", b"application/json"),),
    **scope: Any,
) -> Answer:
    """Ask an application as a server would, with a body in so many pieces."""
    exchange = Bare(*bodies)
    await exchange.run(app, method=method, path=path, headers=list(headers), **scope)
    return exchange.answer


class Bare:
    """A request without a server."""

    def __init__(self, *bodies: bytes) -> None:
        self._incoming = [
            {"type": "http.request", "body": body, "more_body": True} for body in bodies
        ] or [{"type": "http.request"}]
        self._incoming[-1].pop("more_body", None)
        self._gone = asyncio.Event()
        self.received = 0
        """How often the application has asked for an event and got one."""
        self.sent: list[Event] = []

    async def run(self, app: Any, **scope: Any) -> None:
        scope = {"type": "http", "scheme": "http", "client": ("203.0.113.7", 5), **scope}
        async with asyncio.timeout(PATIENCE):
            await app(scope, self.receive, self.send)

    async def receive(self) -> Event:
        if self.received == len(self._incoming):
            await self._gone.wait()
            return {"type": "http.disconnect"}
        self.received += 1
        return self._incoming[self.received - 1]

    async def send(self, event: Event) -> None:
        self.sent.append(event)

    def go_away(self) -> None:
        self._gone.set()

    @property
    def answer(self) -> Answer:
        start, body = self.sent
        assert (start["type"], body["type"]) == ("http.response.start", "http.response.body")
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        assert len(headers) == len(start["headers"])
        return Answer(start["status"], headers, body["body"])


@asynccontextmanager
async def uvicorn_serving(app: Any, **options: Any) -> AsyncIterator[int]:
    """The application on a real server; gives its port."""
    options = {"host": "127.0.0.1", "port": 0, "log_config": None, "lifespan": "on", **options}
    server = _Server(uvicorn.Config(app, **options))
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(PATIENCE):
            await server.listening.wait()
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE):
            await serving


class _Server(uvicorn.Server):
    """A server that leaves the process's signals alone and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def serve(self, sockets: Any = None) -> None:
        await self._serve(sockets)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def client_of(port: int) -> AsyncIterator[RawClient]:
    client = RawClient(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield client
    finally:
        await client.close()


def note(text: str) -> Page:
    body = text.encode()
    return Page(body=body, media_type="text/plain; charset=utf-8", etag=etag_of(body))
