"""What is called in a soak of MCP: a server with tools of each kind, also as a program that
serves stdio."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from typing import Final

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp import Accepted, Context, McpLimits, Server, TaskSettings, ToolError

REFUSED: Final = 4001
NOTE: Final = "note://one"
TASKS: Final = TaskSettings(ttl_ms=2_000, poll_ms=20)
"""Tasks that nobody fetches are gone soon, as the soak waits for that."""


def soaked() -> Server:
    server = Server("soaked", version="1", tasks=TASKS, limits=McpLimits(call_seconds=20))

    @server.tool(inline=True)
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def add_in_thread(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def echo(text: str) -> str:
        await asyncio.sleep(0)
        return text

    @server.tool
    async def report(context: Context, steps: int = 5, seconds: float = 0.0) -> str:
        for step in range(steps):
            context.progress(step + 1, steps)
            context.info("a step")
            await asyncio.sleep(seconds)
        return "reported"

    @server.tool
    async def sleep(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "slept"

    @server.tool
    def block(seconds: float) -> str:
        time.sleep(seconds)
        return "blocked"

    @server.tool
    async def ask(context: Context) -> str:
        answer = await context.elicit("Your name?", str)
        return answer.content if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def let_go(context: Context) -> str:
        context.close_stream()
        await asyncio.sleep(0.01)
        return "came back"

    @server.tool(task="optional")
    async def job(seconds: float = 0.01) -> str:
        await asyncio.sleep(seconds)
        return "done"

    @server.tool
    async def refuse(number: int) -> None:
        raise RpcError(f"{number} is refused", code=REFUSED, data=number)

    @server.tool
    async def fail() -> None:
        raise ToolError("no luck")

    @server.tool
    async def crash() -> None:
        raise RuntimeError("this is meant to happen")

    @server.tool(inline=True)
    def pid() -> int:
        return os.getpid()

    @server.resource(NOTE)
    def note() -> str:
        return "a note"

    @server.prompt
    def greet(name: str) -> str:
        return f"Greet {name}"

    return server


if __name__ == "__main__":
    logging.disable()
    soaked().run(*sys.argv[1:])
