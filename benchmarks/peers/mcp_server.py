"""The official MCP SDK over stdio or HTTP: async tools, without structured output.

`http` is what its users get who install nothing else; `http-extras` is on httptools and uvloop.
It answers with JSON and not with streams, which is the quicker of its ways.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging
import sys
from typing import Any

from mcp.server import MCPServer

from benchmarks.peers.tools import echo, more
from benchmarks.peers.uvicorn_server import run


def make(tools: int) -> Any:
    """A server with so many tools."""
    server = MCPServer("benchmark")
    for function in (echo, *more(tools - 1)):
        server.add_tool(function, structured_output=False)
    logging.disable(logging.WARNING)
    return server


if __name__ == "__main__":
    server = make(int(sys.argv[2]))
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        app = server.streamable_http_app(json_response=True)
        run(app, lifespan="on", bare=sys.argv[1] == "http")
