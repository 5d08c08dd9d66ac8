"""Runs an ASGI application on uvicorn with httptools and uvloop, and prints its port."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import socket
from typing import Any

import uvicorn


def run(app: Any) -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app,
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=600,  # the subjects take turns, and rest in between
    )
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listening])
