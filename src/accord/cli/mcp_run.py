"""`accord mcp run`: serves the MCP server that a Python file holds."""

from __future__ import annotations

import argparse
import logging
from typing import Final
from urllib.parse import urlsplit

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.mcp_file import ServerFile, load_server, messages_only
from accord.cli.output import print_line
from accord.cli.parser import Parser
from accord.mcp.server.server import Server

USAGE: Final = "accord mcp run FILE[:NAME] [--stdio | --http HOST:PORT/PATH] [options]"

DESCRIPTION: Final = """\
Serve the MCP server that a Python file holds: the accord.mcp.Server among its variables, or the
one that NAME says, which may be a function that makes one.

Over stdio, unless --http says otherwise, stdout has nothing but messages: what the file and its
tools print goes to stderr. The server ends when stdin does.

examples:
  accord mcp run server.py
  accord mcp run server.py:weather --http 127.0.0.1:8000/mcp
"""

DEFAULT_PATH: Final = "/mcp"


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE[:NAME]", nargs="?", help="the file, and the server in it")
    add("--stdio", action="store_true", help="serve on stdin and stdout (the default)")
    add(
        "--http",
        metavar="HOST:PORT/PATH",
        help=f"serve there instead; port 0 picks a free one, the path is {DEFAULT_PATH} by default",
    )
    add(
        "--codes",
        choices=("standard", "extended"),
        help="which error codes are sent (default: as the server says)",
    )
    add(
        "--strict-versions",
        action="store_true",
        help="refuse versions of the protocol that are not known, instead of offering another",
    )


def run(arguments: argparse.Namespace) -> int:
    level = logging.DEBUG if arguments.debug else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    if arguments.stdio and arguments.http is not None:
        raise UsageError("either --stdio or --http, not both")
    file = ServerFile.read(arguments.file)
    if arguments.http is None:
        return _run_stdio(file, arguments)
    url = _url(arguments.http)
    server = _server(file, arguments)
    server.run(url, debug=arguments.debug, on_listen=lambda serving: _announce(server, serving.url))
    return exits.OK


def _run_stdio(file: ServerFile, arguments: argparse.Namespace) -> int:
    with messages_only():
        server = _server(file, arguments)
    server.run("stdio:", debug=arguments.debug)
    return exits.OK


def _server(file: ServerFile, arguments: argparse.Namespace) -> Server:
    server = load_server(file)
    if arguments.codes is not None:
        server.use_codes(arguments.codes)
    if arguments.strict_versions:
        server.strict_versions = True
    return server


def _announce(server: Server, url: str) -> None:
    print_line(f"{server.info.name} listening on {url} (press Ctrl-C to stop)")


def _url(place: str) -> str:
    """The URL that HOST:PORT/PATH says. Raises `UsageError`."""
    url = place if "://" in place else f"http://{place}"
    try:
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname and parts.port is not None:
            return url if parts.path else url + DEFAULT_PATH
    except ValueError:
        pass
    raise UsageError(f"--http {place} is not of the form HOST:PORT/PATH")
