"""The official MCP SDK over stdio or HTTP, with async tools.

It runs as it comes: tools are added with no option and have an output schema and structured
content, HTTP answers are streams of events. With `tuned` it does less: no structured content,
and answers in JSON. `http` is what its users get who install nothing else; `http-extras` is on
httptools and uvloop.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging
import sys
from typing import Any

from mcp.server import MCPServer

from benchmarks.peers.tools import echo, more, report
from benchmarks.peers.uvicorn_server import run


def make(tools: int, *, tuned: bool = False) -> Any:
    """A server with so many tools."""
    server = MCPServer("benchmark")
    for function in (echo, report, *more(tools - 2)):
        if tuned:
            server.add_tool(function, structured_output=False)
        else:
            server.add_tool(function)
    logging.disable(logging.WARNING)
    return server


if __name__ == "__main__":
    place, tools, *options = sys.argv[1:]
    tuned = options == ["tuned"]
    server = make(int(tools), tuned=tuned)
    if place == "stdio":
        server.run("stdio")
    else:
        app = server.streamable_http_app(**({"json_response": True} if tuned else {}))
        run(app, lifespan="on", bare=place == "http")
