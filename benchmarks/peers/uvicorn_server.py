"""Runs an ASGI application on uvicorn, and prints its port: with httptools and uvloop, or as
uvicorn comes to those who install nothing else."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import socket
from typing import Any, Literal

import uvicorn


def run(app: Any, *, lifespan: Literal["on", "off"] = "off", bare: bool = False) -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app,
        http="h11" if bare else "httptools",
        loop="asyncio" if bare else "uvloop",
        ws="none",
        lifespan=lifespan,
        access_log=False,
        log_level="warning",
        timeout_keep_alive=600,  # the subjects take turns, and rest in between
    )
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listening])
