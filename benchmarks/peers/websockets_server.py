"""The websockets server on uvloop, without compression and pings: orjson, an echo, no checks."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio

import orjson
import uvloop
from websockets.asyncio.server import ServerConnection, serve


async def answer(connection: ServerConnection) -> None:
    async for message in connection:
        request = orjson.loads(message)
        result = request["params"]["text"]
        body = orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
        await connection.send(body, text=True)


async def main() -> None:
    async with serve(answer, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()


with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
