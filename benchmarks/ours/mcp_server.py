"""Accord serving MCP at a URL or, as `asgi`, on uvicorn; prints the port it listens on."""

from __future__ import annotations

import argparse
import sys
from urllib.parse import urlsplit

from accord import ServerLimits
from accord.mcp import Server
from accord.mcp.server.options import ServedServer
from benchmarks.peers.tools import echo, more, report


def make(tools: int, *, inline: bool = False) -> Server:
    """A server with so many tools."""
    server = Server("benchmark", page_size=max(tools, 100))
    if inline:
        server.add_tool(inline_echo, "echo", inline=True)
    else:
        server.add_tool(echo)
    server.add_tool(report)
    for function in more(tools - 2):
        server.add_tool(function)
    return server


def inline_echo(text: str) -> str:
    """Give a text back."""
    return text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("place", help="a URL, or asgi")
    parser.add_argument("tools", type=int)
    parser.add_argument("--inline", action="store_true")
    parser.add_argument("--no-extras", action="store_true", help="as where uvloop is not installed")
    given = parser.parse_args()
    if given.no_extras:
        sys.modules["uvloop"] = None  # type: ignore[assignment]
    server = make(given.tools, inline=given.inline)
    if given.place == "asgi":
        from benchmarks.peers.uvicorn_server import run

        run(server.asgi("/mcp"))
    else:
        # The subjects take turns, and rest in between.
        patient = ServerLimits(header_seconds=600, idle_seconds=600)
        server.run(given.place, on_listen=announce, server_limits=patient)


def announce(serving: ServedServer) -> None:
    if not serving.url.startswith("stdio:"):
        print(urlsplit(serving.url).port, flush=True)


if __name__ == "__main__":
    main()
