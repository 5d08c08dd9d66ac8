"""A server of FastMCP: `python fast.py stdio | http`; prints its URL."""

# mypy: disable-error-code="import-not-found,untyped-decorator,unused-ignore"

from __future__ import annotations

import asyncio
import logging
import socket
import sys

import uvicorn
from fastmcp import Context, FastMCP
from pydantic import BaseModel

logging.disable(logging.WARNING)
server = FastMCP("fast", version="1")


class Sum(BaseModel):
    total: int


class Name(BaseModel):
    name: str = "nobody"


@server.tool()
async def add(a: int, b: int) -> Sum:
    """Adds."""
    return Sum(total=a + b)


@server.tool()
async def work(steps: int, context: Context) -> str:
    for step in range(steps):
        await context.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
async def sleep() -> str:
    await asyncio.sleep(3600)
    return "awake"


@server.tool()
async def fail() -> str:
    raise RuntimeError("broken")


@server.tool()
async def ask(context: Context) -> str:
    answer = await context.elicit("Who are you?", Name)
    return f"{answer.action}: {answer.data.name if answer.action == 'accept' else ''}"


@server.resource("weather://{city}")
def weather(city: str) -> str:
    return f"rain in {city}"


@server.prompt()
def greet(name: str) -> str:
    return f"hello {name}"


def main(transport: str) -> None:
    if transport == "stdio":
        server.run("stdio", show_banner=False)
        return
    app = server.http_app(path="/mcp")
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


main(sys.argv[1])
