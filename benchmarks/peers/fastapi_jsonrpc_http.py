"""fastapi-jsonrpc on uvicorn: `echo` as a plain function, or as an async one."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys

import fastapi_jsonrpc
from fastapi import Body

from benchmarks.peers.uvicorn_server import run


def inline(text: str = Body(...)) -> str:
    return text


async def tasks(text: str = Body(...)) -> str:
    return text


app = fastapi_jsonrpc.API()
entrypoint = fastapi_jsonrpc.Entrypoint("/rpc")
entrypoint.method(name="echo")(tasks if sys.argv[1] == "tasks" else inline)
app.bind_entrypoint(entrypoint)
run(app)
