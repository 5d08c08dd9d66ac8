"""A server that a test runs as a process of its own."""

from __future__ import annotations

import sys
import time

from accord.mcp import Context, Server

server = Server("program", version="1.0")


@server.tool(inline=True)
def add(a: int, b: int) -> int:
    return a + b


@server.tool
def block() -> str:
    """Blocks its thread for longer than anybody waits."""
    time.sleep(600)
    return "never"


@server.tool
async def begun(context: Context) -> str:
    context.info("begun")
    return "done"


if __name__ == "__main__":
    server.run(*sys.argv[1:], on_listen=lambda serving: print(serving.url, file=sys.stderr))
