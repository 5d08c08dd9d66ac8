"""A bare ASGI application on uvicorn: orjson and an echo, no checks, no routing."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from benchmarks.peers.uvicorn_server import run

HEADERS = [(b"content-type", b"application/json")]


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    body = b""
    more = True
    while more:
        event = await receive()
        body += event["body"]
        more = event["more_body"]
    request = orjson.loads(body)
    result = request["params"]["text"]
    answer = orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
    headers = [*HEADERS, (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


run(app)
