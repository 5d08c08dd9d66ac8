"""A server mounted in a web application, under uvicorn in a process of its own; it says on stdout
what begins and ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from accord.mcp import Server


def say(what: str) -> None:
    print(what, flush=True)


@asynccontextmanager
async def lifespan(server: Server) -> AsyncIterator[None]:
    say("began")
    try:
        yield
    finally:
        await asyncio.sleep(0.3)  # longer than uvicorn takes to stop by itself
        say("ended")


@asynccontextmanager
async def outer(app: Any) -> AsyncIterator[None]:
    yield
    say("outer ended")


def make_server(name: str) -> Server:
    server = Server(name, lifespan=lifespan)

    @server.tool
    async def wait() -> str:
        """Never answers."""
        say("waiting")
        try:
            await asyncio.Event().wait()
        finally:
            say("stopped waiting")
        return ""

    return server


def application(kind: str) -> Any:
    asgi = make_server("mounted").asgi("/mcp", old_sse=True)
    asgi._drain = 0.2
    if kind == "alone":
        return asgi
    if kind == "starlette":
        return Starlette(routes=[Mount("/", asgi)], lifespan=outer)
    app = FastAPI(lifespan=outer)
    if kind == "fastapi":
        app.mount("/", asgi)
    else:
        inner = FastAPI()
        inner.mount("/", asgi)
        app.mount("/two", make_server("other").asgi("/mcp"))
        app.mount("/", inner)
    return app


class Announced(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        say(f"port {self.servers[0].sockets[0].getsockname()[1]}")


if __name__ == "__main__":
    kind, loop = sys.argv[1:]
    config = uvicorn.Config(application(kind), port=0, loop=loop, log_level="warning")
    with suppress(KeyboardInterrupt):  # which uvicorn raises again for SIGINT, as for SIGTERM
        Announced(config).run()
    say("returned")
