"""A server of the library in a process of its own: `python -m tests.soak.memory.server URL`."""

from __future__ import annotations

import sys

from accord import Router
from accord.transports.serve import run

router = Router()


@router.method
def ping() -> str:
    return "pong"


if __name__ == "__main__":
    run(router, sys.argv[1], on_listen=lambda server: print(server.url, flush=True))
