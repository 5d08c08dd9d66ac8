"""`accord demo`: a server to try clients, transports and limits with."""

from __future__ import annotations

import argparse
import logging
import os
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from accord import __version__
from accord.cli import exits, schemes
from accord.cli.certificates import server_tls
from accord.cli.demo_router import Report, demo_router
from accord.cli.exits import UsageError
from accord.cli.flags import add_limit_flags, count, limits_from
from accord.cli.output import print_error_line, print_line
from accord.cli.parser import Parser
from accord.cli.workers import OnListen, run_workers
from accord.openrpc.api import Api
from accord.transports.serve import Server, run as run_server

USAGE: Final = "accord demo [options] URL"

DESCRIPTION: Final = """\
Serve a few methods until Ctrl-C:

  add(a, b)                      the sum of two numbers
  subtract(minuend, subtrahend)  their difference
  sum(*numbers)                  the sum of any number of numbers
  echo(value)                    any JSON value, unchanged
  sleep(seconds)                 nothing, after so many seconds
  fail(code, message, data)      that error
  crash()                        what an unforeseen exception looks like
  call_back(method, params)      what the caller's own method answers (not over HTTP)
  stats()                        connections, calls in flight, counts
  rpc.discover()                 the OpenRPC document of all this

Over HTTP there are pages below the URL too: explore, which shows and calls the methods in a
browser, openrpc.json and metrics.

URL is tcp://HOST:PORT, tls://…, unix:///PATH, ws://…, wss://…, http://…, https://… or
stdio:, which serves on stdin and stdout. Port 0 picks a free one.

examples:
  accord demo tcp://127.0.0.1:7000
  accord demo http://127.0.0.1:8000/rpc --workers 2
  accord demo wss://127.0.0.1:0/rpc --tls-cert cert.pem --tls-key key.pem
"""


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("url", metavar="URL", nargs="?", help="where to listen")
    add(
        "--framing",
        choices=("newline", "content-length"),
        help="how messages are told apart on a byte stream (default: newline)",
    )
    add("--tls-cert", metavar="FILE", type=Path, help="the certificate to show (PEM)")
    add("--tls-key", metavar="FILE", type=Path, help="its key, if it is in a file of its own")
    add(
        "--workers",
        metavar="N",
        type=count,
        default=1,
        help="processes that share the port (TCP-based URLs; default: 1)",
    )
    add("--json", action="store_true", help="announce it as a line of JSON")
    add_limit_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    level = logging.DEBUG if arguments.debug else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    scheme = schemes.read_scheme(arguments.url)
    options = _options(arguments, scheme)
    # Over stdio stdout belongs to messages.
    say = print_error_line if scheme == "stdio" else print_line

    def announce(url: str) -> None:
        say(_ready(url) if arguments.json else _listening(url))

    if arguments.workers > 1:

        def serve_one(url: str, number: int, on_listen: OnListen) -> None:
            _Demo().run(url, on_listen, reuse_port=True, **options)

        return run_workers(arguments.url, arguments.workers, serve_one, announce)
    _Demo().run(arguments.url, lambda server: announce(server.url), **options)
    return exits.OK


class _Demo:
    """The demo's router being served by this process."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._server: Server | None = None

    def run(self, url: str, on_listen: OnListen, **options: Any) -> None:
        """Serve until told to stop."""

        api = Api(
            demo_router(self._report),
            title="Accord demo",
            version=__version__,
            description="A few methods to try things out with.",
            metrics=True,
        )

        def listen(server: Server) -> None:
            self._server = server
            api.place = "" if server.url.startswith("stdio:") else server.url
            on_listen(server)

        pages = api.pages if url.startswith("http") else {}
        run_server(api.router, url, on_listen=listen, pages=pages, observer=api.observer, **options)

    def _report(self) -> Report:
        assert self._server is not None, "nothing is called before it listens"
        return Report(
            pid=os.getpid(),
            uptime_seconds=round(time.monotonic() - self._started, 3),
            connections=self._server.connections,
            in_flight=self._server.in_flight,
            counts=self._server.statistics,
        )


def _listening(url: str) -> str:
    line = f"Accord demo listening on {url} (press Ctrl-C to stop)"
    if not url.startswith("http"):
        return line
    return f"{line}\nExplore its methods at {url.rstrip('/')}/explore"


def _ready(url: str) -> str:
    return msgspec.json.encode({"event": "ready", "url": url}).decode()


def _options(arguments: argparse.Namespace, scheme: str) -> dict[str, Any]:
    if scheme == "stdio" and arguments.url.removeprefix("stdio:").strip("/ "):
        raise UsageError("stdio: serves on stdin and stdout, and takes no command here")
    if arguments.workers < 1:
        raise UsageError("--workers must be at least 1")
    for flag, given, fits in (
        ("--framing", arguments.framing is not None, schemes.STREAMS),
        ("--tls-cert", arguments.tls_cert is not None, schemes.SECURE),
        ("--tls-key", arguments.tls_key is not None, schemes.SECURE),
        ("--workers", arguments.workers > 1, schemes.TCP_BASED),
    ):
        schemes.check_flag(flag, given=given, scheme=scheme, fits=fits)
    if scheme in schemes.SECURE and arguments.tls_cert is None:
        raise UsageError(f"{scheme} needs a certificate: --tls-cert FILE (and --tls-key FILE)")
    limits, server_limits = limits_from(arguments)
    return {
        "framing": arguments.framing or "newline",
        "limits": limits,
        "server_limits": server_limits,
        "tls": server_tls(arguments.tls_cert, arguments.tls_key) if arguments.tls_cert else None,
        "debug": arguments.debug,
    }
