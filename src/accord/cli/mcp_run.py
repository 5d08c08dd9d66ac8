"""`accord mcp run`: serves the MCP server that a Python file holds."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote, urlsplit

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.flags import count
from accord.cli.mcp_file import ServerFile, load_server, messages_only
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.workers import OnListen, run_workers
from accord.mcp.server.server import Server
from accord.store import StoreError, open_store

USAGE: Final = "accord mcp run FILE[:NAME] [--stdio | --http HOST:PORT/PATH] [options]"

DESCRIPTION: Final = """\
Serve the MCP server that a Python file holds: the accord.mcp.Server among its variables, or the
one that NAME says, which may be a function that makes one.

Over stdio, unless --http says otherwise, stdout has nothing but messages: what the file and its
tools print goes to stderr. The server ends when stdin does.

examples:
  accord mcp run server.py
  accord mcp run server.py:weather --http 127.0.0.1:8000/mcp --workers 2
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
        "--workers",
        metavar="N",
        type=count,
        default=1,
        help="processes that share the port, with --http (default: 1)",
    )
    add(
        "--store",
        metavar="URL",
        help="where processes keep what they share, with --http: sqlite:///PATH or postgresql://… "
        "(default: a file of their own)",
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
    add("--json", action="store_true", help="announce it as a line of JSON, with --http")


def run(arguments: argparse.Namespace) -> int:
    level = logging.DEBUG if arguments.debug else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    _check(arguments)
    file = ServerFile.read(arguments.file)
    if arguments.http is None:
        with messages_only():
            server = _server(file, arguments)
        server.run("stdio:", debug=arguments.debug)
        return exits.OK
    url = _url(arguments.http)
    with _store(arguments) as store:
        # Before there are workers: they have it from their parent, and what is wrong is said once.
        return _serve(_server(file, arguments), url, store, arguments)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.stdio and arguments.http is not None:
        raise UsageError("either --stdio or --http, not both")
    if arguments.workers < 1:
        raise UsageError("--workers must be at least 1")
    if arguments.http is None and (arguments.workers > 1 or arguments.store is not None):
        raise UsageError("--workers and --store are for --http")
    if arguments.http is None and arguments.json:
        raise UsageError("--json is for --http: over stdio, stdout has nothing but messages")


def _serve(server: Server, url: str, store: str | None, arguments: argparse.Namespace) -> int:
    options = {"debug": arguments.debug, "shared": store}
    announce = partial(_announce, server, as_json=arguments.json)
    if arguments.workers == 1:
        server.run(url, on_listen=lambda serving: announce(serving.url), **options)
        return exits.OK

    def serve_one(url: str, number: int, on_listen: OnListen) -> None:
        server.run(url, on_listen=on_listen, reuse_port=True, **options)

    return run_workers(url, arguments.workers, serve_one, announce)


@contextmanager
def _store(arguments: argparse.Namespace) -> Iterator[str | None]:
    """The URL of the store that processes share; None where there is nothing to share."""
    if arguments.store is not None:
        _try_store(arguments.store)
        yield arguments.store
    elif arguments.workers > 1:
        with TemporaryDirectory(prefix="accord-mcp-") as folder:
            yield f"sqlite://{quote(folder)}/shared.db"
    else:
        yield None


def _try_store(url: str) -> None:
    """Say at once what is wrong with a store. Raises `UsageError`."""

    async def open_and_close() -> None:
        async with open_store(url):
            pass

    try:
        asyncio.run(open_and_close())
    except (StoreError, ValueError) as error:
        raise UsageError(f"--store: {error}") from None


def _server(file: ServerFile, arguments: argparse.Namespace) -> Server:
    server = load_server(file)
    if arguments.codes is not None:
        server.use_codes(arguments.codes)
    if arguments.strict_versions:
        server.strict_versions = True
    return server


def _announce(server: Server, url: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "ready", "name": server.info.name, "url": url})
        return
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
