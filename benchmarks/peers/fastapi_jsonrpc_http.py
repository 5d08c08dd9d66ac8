"""fastapi-jsonrpc on uvicorn: `echo` as an async function."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import fastapi_jsonrpc
from fastapi import Body

from benchmarks.peers.uvicorn_server import run


async def echo(text: str = Body(...)) -> str:
    return text


app = fastapi_jsonrpc.API()
entrypoint = fastapi_jsonrpc.Entrypoint("/rpc")
entrypoint.method()(echo)
app.bind_entrypoint(entrypoint)
run(app)
