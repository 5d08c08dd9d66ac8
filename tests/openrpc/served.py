"""A program that serves the zoo inside a web application, and prints where."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.applications import Starlette

from accord.openrpc import Api
from tests.openrpc.zoo import flat_zoo


async def main() -> None:
    app = Starlette()
    app.mount("/rpc", Api(flat_zoo(), title="Zoo", version="1.0"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"serving http://127.0.0.1:{listening.getsockname()[1]}/rpc/", flush=True)
        config = uvicorn.Config(app, log_level="warning")
        await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main())
