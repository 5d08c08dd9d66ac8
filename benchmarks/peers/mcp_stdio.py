"""The official MCP SDK over stdio: `echo` as an async tool, without structured output."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging

from mcp.server import MCPServer


async def echo(text: str) -> str:
    return text


server = MCPServer("benchmark")
server.add_tool(echo, structured_output=False)
logging.disable(logging.WARNING)
server.run("stdio")
