"""The route of `benchmarks.peers.echo_route` as a method, and the same through httpx."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
from fastapi import FastAPI
from msgspec import UnsetType

import accord
from accord import Context, Limits, Router
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.openrpc import expose
from accord.transports.serve import Server
from benchmarks.peers.echo_route import app
from benchmarks.peers.slices import measure
from benchmarks.peers.uvicorn_server import run as run_uvicorn

INFO = ChannelInfo(scheme="memory")


class Asker:
    """Where the requests come from."""

    def __init__(self) -> None:
        self.answered: asyncio.Future[bytes | None]

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=INFO)

    def answer(self, data: bytes | None) -> None:
        self.answered.set_result(data)

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("nothing was asked")


def by_method(router: Router, request: bytes) -> Callable[[], Awaitable[bytes]]:
    dispatcher = Dispatcher(router, limits=Limits())
    asker = Asker()

    async def call() -> bytes:
        asker.answered = asyncio.get_running_loop().create_future()
        answer = dispatcher.handle(request, asker)
        found = answer if isinstance(answer, bytes) else await asker.answered
        assert found is not None
        return found

    return call


def by_httpx(text: str) -> Callable[[], Awaitable[bytes]]:
    transport = httpx.ASGITransport(app)
    client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async def call() -> bytes:
        return (await client.post("/echo", json={"text": text})).content

    return call


async def repeat(call: Callable[[], Awaitable[bytes]], count: int, expected: bytes) -> None:
    for _ in range(count):
        answer = await call()
        if answer != expected:
            raise AssertionError(f"expected {expected!r}, got {answer!r}")


def in_process(make: Callable[[], Callable[[], Awaitable[bytes]]]) -> None:
    async def begin() -> tuple[Callable[[], Awaitable[bytes]], bytes]:
        call = make()
        return call, await call()

    with asyncio.Runner() as runner:
        call, answer = runner.run(begin())
        loop = runner.get_loop()
        measure(answer.decode(), lambda count: loop.run_until_complete(repeat(call, count, answer)))


def announce(server: Server) -> None:
    print(urlsplit(server.url).port, flush=True)


def mounted() -> Any:
    outer = FastAPI()
    outer.mount("/rpc", expose(app))
    return outer


match sys.argv[1]:
    case "method":
        in_process(lambda: by_method(expose(app).router, sys.argv[2].encode()))
    case "httpx":
        in_process(lambda: by_httpx(sys.argv[2]))
    case "server":
        accord.run(expose(app).router, "http://127.0.0.1:0/rpc", on_listen=announce)
    case "mounted":
        run_uvicorn(mounted())
