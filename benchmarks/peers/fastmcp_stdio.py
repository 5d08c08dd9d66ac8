"""FastMCP over stdio: `echo` as an async tool, without structured output."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging

from fastmcp import FastMCP
from fastmcp.tools import Tool


async def echo(text: str) -> str:
    return text


server = FastMCP("benchmark")
server.add_tool(Tool.from_function(echo, output_schema=None))
logging.disable(logging.WARNING)
server.run("stdio", show_banner=False)
