"""A server with a tool that waits, for the tests of request ids; over stdio as a process."""

from __future__ import annotations

import asyncio
from typing import Literal

from accord.mcp import Server


def make_server(codes: Literal["standard", "extended"] = "standard") -> Server:
    server = Server("ids", version="1", codes=codes)
    released = asyncio.Event()
    calls = 0

    @server.tool
    async def hold() -> str:
        """Wait until `release` is called."""
        nonlocal calls
        calls += 1
        await released.wait()
        return "held"

    @server.tool(inline=True)
    def release() -> int:
        """Let `hold` answer; say how often it was called."""
        released.set()
        return calls

    return server


if __name__ == "__main__":
    make_server().run("stdio:")
