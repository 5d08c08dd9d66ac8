"""An application that does what its requests say, carried by our own server or by ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from accord.transports.asgi.web import WebAsgi
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, text_reply
from accord.transports.http.server import listen_web
from accord.transports.http.web_app import Exchange, LivingApp
from accord.transports.options import Options
from tests.transports.asgi.service import uvicorn_serving
from tests.transports.http.service import PATIENCE, RawClient

TEXT = b"content-type: text/plain\r\n"


class App(LivingApp[WebRequest]):
    """Answers by the place of a request."""

    def __init__(self) -> None:
        self.judged: list[WebRequest] = []
        self.broken = self.started = self.closed = False
        self._held: asyncio.Queue[Exchange] = asyncio.Queue()
        self._gone: asyncio.Queue[str] = asyncio.Queue()

    def judge(self, request: WebRequest) -> Reply | WebRequest:
        self.judged.append(request)
        return text_reply(404, "elsewhere") if request.place is None else request

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return text_reply(413, f"at most {most}")

    def handle(self, judged: WebRequest, body: bytes, exchange: Exchange) -> None:
        place = judged.place or ""
        exchange.on_gone = lambda: self._gone.put_nowait(place)
        match place:
            case "later" | "open":
                self._held.put_nowait(exchange)
            case "stream":
                stream = exchange.stream(headers=TEXT)
                stream.write(b"one ")
                stream.write(b"")
                stream.write(b"two ")
                stream.write(body)
                stream.close()
                stream.write(b"late")
            case "empty":
                exchange.reply(b"", status=204, headers=b"")
            case "crash":
                raise RuntimeError("an application that breaks its promise")
            case "crash-late":
                exchange.stream(headers=TEXT).write(b"one")
                raise RuntimeError("an application that breaks its promise")
            case "about":
                exchange.reply(f"{judged.method} {judged.path} {judged.query}".encode())
            case _:
                exchange.reply(body, headers=TEXT)

    async def start(self) -> None:
        if self.broken:
            raise RuntimeError("an application that cannot start")
        self.started = True

    async def close(self, drain: float) -> None:
        self.closed = True

    async def held(self) -> Exchange:
        """The next request that waits for its answer."""
        async with asyncio.timeout(PATIENCE):
            return await self._held.get()

    async def gone(self) -> str:
        """The place of the next request whose client went away."""
        async with asyncio.timeout(PATIENCE):
            return await self._gone.get()

    @property
    def nobody_gone(self) -> bool:
        return self._gone.empty()


@asynccontextmanager
async def serving(
    app: App,
    carrier: str = "own",
    *,
    limits: Limits | None = None,
    server_limits: ServerLimits | None = None,
) -> AsyncIterator[int]:
    """Gives the port."""
    limits = Limits() if limits is None else limits
    if carrier == "uvicorn":
        asgi = WebAsgi(app, path="/app", limits=limits)
        async with uvicorn_serving(asgi) as port:
            yield port
        return
    options = Options(limits=limits, server_limits=server_limits or ServerLimits())
    listener = await listen_web("http://127.0.0.1:0/app", app, options)
    try:
        yield int(listener.url.split(":")[2].split("/")[0])
    finally:
        async with asyncio.timeout(PATIENCE):
            await listener.close()
        assert listener.connections == 0


@asynccontextmanager
async def client_of(port: int) -> AsyncIterator[RawClient]:
    client = RawClient(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield client
    finally:
        await client.close()


def ask(
    place: str = "", body: bytes = b"", *lines: str, method: str = "POST", version: str = "1.1"
) -> bytes:
    target = f"/app/{place}" if place else "/app"
    head = [f"{method} {target} HTTP/{version}", "Host: 127.0.0.1", *lines]
    if body or method == "POST":
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


async def head_of(client: RawClient) -> dict[str, Any]:
    """The head of a response, without reading its body."""
    answer = await client.answer(head_only=True)
    return {"status": answer.status, **answer.headers}
