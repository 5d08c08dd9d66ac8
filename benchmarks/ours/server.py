"""Accord serving the benchmark's methods at a URL; prints the port it listens on."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from typing import Any
from urllib.parse import urlsplit

import accord
from accord.transports.serve import Server


def inline() -> accord.Router:
    router = accord.Router()

    @router.method
    def echo(text: str) -> str:
        return text

    @router.method
    def subtract(minuend: int, subtrahend: int) -> int:
        return minuend - subtrahend

    @router.method
    def pid() -> int:
        return os.getpid()

    @router.method
    def collect() -> int:
        """How many blocks of memory Python holds once it has tidied up."""
        gc.collect()
        return sys.getallocatedblocks()

    return router


def tasks() -> accord.Router:
    """The same methods as `async def`: each call is a task."""
    router = accord.Router()

    @router.method
    async def echo(text: str) -> str:
        return text

    @router.method
    async def subtract(minuend: int, subtrahend: int) -> int:
        return minuend - subtrahend

    return router


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--framing", default="newline")
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--stock-loop", action="store_true", help="asyncio's own event loop")
    parser.add_argument("--reuse-port", action="store_true")
    given = parser.parse_args()
    router = tasks() if given.tasks else inline()
    # No pings: the load generator would take them for answers.
    options = {"framing": given.framing, "reuse_port": given.reuse_port, "ping_seconds": None}
    if given.stock_loop:
        asyncio.run(serve(router, given.url, options))
    else:
        accord.run(router, given.url, on_listen=announce, **options)


async def serve(router: accord.Router, url: str, options: dict[str, Any]) -> None:
    async with accord.serve(router, url, **options) as server:
        announce(server)
        await server.wait_closed()


def announce(server: Server) -> None:
    if not server.url.startswith("stdio:"):
        print(urlsplit(server.url).port, flush=True)


if __name__ == "__main__":
    main()
