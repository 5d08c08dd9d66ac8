"""A server with one of everything, also as a program that serves stdio."""

from __future__ import annotations

import asyncio
import sys

import accord
from accord.mcp import Context, Server, ToolError


def demo() -> Server:
    server = Server("demo", version="1", instructions="Add with care.", page_size=2)

    @server.tool
    async def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @server.tool
    async def count(text: str) -> dict[str, int]:
        return {"length": len(text)}

    @server.tool
    async def fail() -> str:
        raise ToolError("the disk is full")

    @server.tool
    async def work(steps: int, context: Context) -> str:
        for step in range(steps):
            await context.progress(step + 1, steps, f"step {step + 1}")
        await context.info("worked")
        return "done"

    @server.tool
    async def sleep() -> str:
        await asyncio.sleep(3600)
        return "awake"

    @server.resource("weather://{city}")
    def weather(city: str) -> str:
        return f"rain in {city}"

    @server.resource("demo://motd")
    def motd() -> str:
        return "hello"

    @server.prompt
    def greet(name: str, times: int = 1) -> str:
        return f"hello {name} " * times

    @server.completion("greet", "name")
    def names(value: str) -> list[str]:
        return [name for name in ("anna", "anton", "berta") if name.startswith(value)]

    return server


if __name__ == "__main__":
    accord.run(demo().router, sys.argv[1] if len(sys.argv) > 1 else "stdio:")
