"""A web site that a test writes as functions: what answers a request, by its method and path."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote_plus

from msgspec import Struct

from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply
from accord.transports.http.server import listen_web
from accord.transports.http.web_app import Exchange, WebApp
from accord.transports.options import Options


class Asked(Struct):
    """A request that came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def parameters(self) -> dict[str, str]:
        return dict(parse_qsl(self.query))

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def basic(self) -> tuple[str, str] | None:
        """The client that authenticates by HTTP Basic."""
        scheme, _, encoded = self.headers.get("authorization", "").partition(" ")
        if scheme != "Basic":
            return None
        name, _, secret = base64.b64decode(encoded).decode().partition(":")
        return unquote_plus(name), unquote_plus(secret)


class Answer(Struct):
    status: int = 200
    json: Any = None
    headers: dict[str, str] = {}
    body: bytes | None = None


Handler: TypeAlias = Callable[[Asked], Answer | Awaitable[Answer]]


class Site(WebApp[WebRequest]):
    """Implements `WebApp`; whatever nobody answers is 404."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.routes: dict[str, Handler] = {}
        """By method and path, as in `GET /mcp`."""
        self._running: set[asyncio.Task[None]] = set()

    @property
    def places(self) -> list[str]:
        """What was asked for, in order."""
        return [f"{asked.method} {asked.path}" for asked in self.asked]

    def to(self, place: str) -> list[Asked]:
        return [asked for asked in self.asked if f"{asked.method} {asked.path}" == place]

    def judge(self, request: WebRequest) -> Reply | WebRequest:
        return request

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return Reply(413)

    def handle(self, judged: WebRequest, body: bytes, exchange: Exchange) -> None:
        asked = Asked(judged.method, judged.path, judged.query, judged.fields, body)
        self.asked.append(asked)
        task = asyncio.get_running_loop().create_task(self._answer(asked, exchange))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, asked: Asked, exchange: Exchange) -> None:
        handler = self.routes.get(f"{asked.method} {asked.path}", _nothing)
        answer = handler(asked)
        if not isinstance(answer, Answer):
            answer = await answer
        body = answer.body
        if body is None:
            body = b"" if answer.json is None else json.dumps(answer.json).encode()
        headers = {"content-type": "application/json", **answer.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        exchange.reply(body, status=answer.status, headers=lines.encode())

    async def start(self) -> None: ...

    async def close(self, drain: float) -> None:
        for task in self._running:
            task.cancel()


def _nothing(asked: Asked) -> Answer:
    return Answer(404)


@asynccontextmanager
async def served(*sites: Site) -> AsyncIterator[None]:
    """Serve sites, each at an address of its own."""
    listeners = []
    try:
        for site in sites:
            listener = await listen_web("http://127.0.0.1:0/", site, Options())
            site.url = listener.url.rstrip("/")
            listeners.append(listener)
        yield
    finally:
        for listener in listeners:
            await listener.close()
