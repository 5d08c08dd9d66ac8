"""FastMCP over stdio or HTTP: async tools, without structured output.

`http` is what its users get who install nothing else; `http-extras` is on httptools and uvloop.
It answers with JSON and not with streams, which is the quicker of its ways.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging
import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool

from benchmarks.peers.tools import echo, more
from benchmarks.peers.uvicorn_server import run


def make(tools: int) -> Any:
    """A server with so many tools."""
    server = FastMCP("benchmark")
    for function in (echo, *more(tools - 1)):
        server.add_tool(Tool.from_function(function, output_schema=None))
    logging.disable(logging.WARNING)
    return server


if __name__ == "__main__":
    server = make(int(sys.argv[2]))
    if sys.argv[1] == "stdio":
        server.run("stdio", show_banner=False)
    else:
        app = server.http_app(path="/mcp", json_response=True)
        run(app, lifespan="on", bare=sys.argv[1] == "http")
