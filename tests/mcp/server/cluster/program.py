"""A server that several processes serve: its tools say who they are, ask, wait and change things."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from accord.mcp import Accepted, Context, Server

server = Server("shop", version="1.0")


@server.tool(inline=True)
def who() -> int:
    return os.getpid()


@server.tool
async def ask_name(context: Context) -> str:
    answer = await context.elicit("Your name?", str)
    return f"{os.getpid()} heard {answer.content if isinstance(answer, Accepted) else answer}"


@server.tool
async def hold(file: str, context: Context) -> str:
    """Says that it has begun, and waits for a file."""
    context.info("begun")
    return await _contents(Path(file))


@server.tool(task="optional")
async def work(file: str) -> str:
    return await _contents(Path(file))


@server.tool(task="optional")
async def ask_in_task(context: Context) -> str:
    answer = await context.elicit("Your name?", str)
    return f"{os.getpid()} heard {answer.content if isinstance(answer, Accepted) else answer}"


@server.tool
async def visit(page: str, context: Context) -> str:
    await context.elicit_url("Pay here", "https://example.org/pay", id=page)
    return "asked"


@server.tool
async def visited(page: str) -> str:
    server.elicitation_completed(page)
    return "told"


@server.tool
async def update(uri: str) -> str:
    server.resource_updated(uri)
    return "told"


@server.tool
async def grow(name: str) -> str:
    server.add_tool(lambda: "grown", name, inline=True)
    return "grown"


@server.tool
async def debug(context: Context) -> str:
    context.debug("in detail")
    return "done"


@server.resource("note://{name}")
def note(name: str) -> str:
    return name


async def _contents(file: Path) -> str:
    while not file.exists():  # noqa: ASYNC110, ASYNC240 - nobody tells
        await asyncio.sleep(0.005)
    return file.read_text()  # noqa: ASYNC240
