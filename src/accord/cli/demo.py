"""`accord demo`: a server to try clients, transports and limits with."""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import logging
import os
import time
from collections.abc import Callable
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct, field
from msgspec.structs import FieldInfo, fields

from accord import __version__
from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import (
    SECURE_SCHEMES,
    STREAM_SCHEMES,
    TCP_SCHEMES,
    check_flag,
    count,
    duration,
    read_scheme,
    seconds,
    server_tls,
    size,
)
from accord.cli.output import print_error_line, print_line
from accord.cli.workers import OnListen, run_workers
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from accord.jsonrpc.protocol.codec import is_structured
from accord.jsonrpc.protocol.errors import InvalidParamsError, RpcError
from accord.jsonrpc.protocol.session import Statistics
from accord.openrpc.api import Api
from accord.transports.serve import Server, run as run_server

# accord demo


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
    scheme = read_scheme(arguments.url)
    options = _options(arguments, scheme)
    # Over stdio stdout belongs to messages.
    say = print_error_line if scheme == "stdio" else print_line

    def announce(url: str) -> None:
        say(_ready(url) if arguments.json else _listening(url))

    if arguments.workers > 1:

        def serve_one(url: str, _number: int, on_listen: OnListen) -> None:
            _Demo().run(url, on_listen, reuse_port=True, **options)

        return run_workers(arguments.url, arguments.workers, serve_one, announce)
    _Demo().run(arguments.url, lambda server: announce(server.url), **options)
    return exits.OK


class _Demo:
    """The server of the demo in this process."""

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
    for flag, is_given, fits in (
        ("--framing", arguments.framing is not None, STREAM_SCHEMES),
        ("--tls-cert", arguments.tls_cert is not None, SECURE_SCHEMES),
        ("--tls-key", arguments.tls_key is not None, SECURE_SCHEMES),
        ("--workers", arguments.workers > 1, TCP_SCHEMES),
    ):
        check_flag(flag, given=is_given, scheme=scheme, fits=fits)
    if scheme in SECURE_SCHEMES and arguments.tls_cert is None:
        raise UsageError(f"{scheme} needs a certificate: --tls-cert FILE (and --tls-key FILE)")
    limits, server_limits = limits_from(arguments)
    return {
        "framing": arguments.framing or "newline",
        "limits": limits,
        "server_limits": server_limits,
        "tls": server_tls(arguments.tls_cert, arguments.tls_key) if arguments.tls_cert else None,
        "debug": arguments.debug,
    }


# Limits as flags


_GROUPS: Final[dict[str, type[Limits] | type[ServerLimits]]] = {
    "limits of each connection": Limits,
    "limits of the server": ServerLimits,
}
_READERS: Final[dict[object, tuple[Callable[[str], Any], str]]] = {
    int: (count, "N"),
    int | None: (size, "N"),
    float: (seconds, "SECONDS"),
    float | None: (duration, "SECONDS"),
}


def add_limit_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each field of `Limits` and `ServerLimits`; field docs are the help."""
    for title, struct in _GROUPS.items():
        group = parser.add_argument_group(title)
        explained = _docstrings(struct)
        for limit in fields(struct):
            read, metavar = _READERS[limit.type]
            group.add_argument(
                f"--{limit.name.replace('_', '-')}",
                type=read,
                metavar=metavar,
                default=argparse.SUPPRESS,
                help=_help(explained[limit.name], limit),
            )


def limits_from(arguments: argparse.Namespace) -> tuple[Limits, ServerLimits]:
    """Return the limits given by flags, with the default of every limit without a flag."""
    values = vars(arguments)
    connection, server = (
        struct(
            **{field.name: values[field.name] for field in fields(struct) if field.name in values}
        )
        for struct in (Limits, ServerLimits)
    )
    assert isinstance(connection, Limits)
    assert isinstance(server, ServerLimits)
    return connection, server


def _help(explanation: str, field: FieldInfo) -> str:
    default = f"{field.default:g}" if isinstance(field.default, float) else f"{field.default:,}"
    unlimited = {int | None: "; or unlimited", float | None: "; or none"}.get(field.type, "")
    return f"{explanation.rstrip('.')} (default: {default}{unlimited})".replace("%", "%%")


def _docstrings(struct: type) -> dict[str, str]:
    """Return the docs of the fields of a struct, read from its source, by field."""
    [definition] = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    explained: dict[str, str] = {}
    for member, below in pairwise(definition.body):
        match member, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                explained[name] = " ".join(text.split())
    return explained


# The methods that are served


LONGEST_SLEEP: Final = 86_400
"""The longest sleep in seconds: no client needs a day, and timers overflow at some point."""

Number: TypeAlias = int | float
_NULL: Final = Raw(b"null")


class Report(Struct, frozen=True, kw_only=True):
    """What `stats` tells about the process that serves."""

    pid: int = 0
    uptime_seconds: float = 0.0
    connections: int = 0
    in_flight: int = 0
    """Calls being handled now, but this one."""
    counts: Statistics = field(default_factory=Statistics)


def demo_router(report: Callable[[], Report] = Report) -> Router:
    """Return a router with the demo's methods; `stats` returns what `report` returns."""
    router = Router()

    def stats() -> Report:
        """What this process serves and has served."""
        return report()

    for function in (add, subtract, echo, sleep, fail, crash, call_back, stats):
        router.add(function)
    router.add(sum_, "sum")
    return router


def add(a: Number, b: Number) -> Number:
    """The sum of two numbers."""
    return _finite(lambda: a + b)


def subtract(minuend: Number, subtrahend: Number) -> Number:
    """The difference of two numbers."""
    return _finite(lambda: minuend - subtrahend)


def sum_(*numbers: Number) -> Number:
    """The sum of any number of numbers."""
    return _finite(lambda: sum(numbers))


def echo(value: Raw) -> Raw:
    """`value`, to the last digit as it was sent."""
    return value


async def sleep(seconds: Annotated[float, Meta(ge=0, le=LONGEST_SLEEP)]) -> None:
    """Answer after so many seconds."""
    await asyncio.sleep(seconds)


def fail(code: int, message: str, data: Raw = _NULL) -> None:
    """Answer with this error."""
    raise RpcError(message, code=code, data=None if bytes(data) == b"null" else data)


def crash() -> None:
    """Raise something unforeseen."""
    raise RuntimeError("crash() was called")


async def call_back(method: str, context: Context, params: Raw = _NULL) -> Any:
    """Call `method` of the caller, on the same connection, and answer what it answered."""
    if not is_structured(bytes(params)):
        raise InvalidParamsError("params must be an array or an object")
    return await context.call(method, params)


def _finite(calculate: Callable[[], Number]) -> Number:
    """Return the result of `calculate`.

    Raises `InvalidParamsError` if JSON cannot represent the number.
    """
    try:
        number = calculate()
    except OverflowError:  # an integer that is too large to be added to a fraction
        number = float("inf")
    if isinstance(number, float) and not isfinite(number):
        raise InvalidParamsError("the result is out of range")
    return number


COMMANDS: Final = {
    "demo": Command(USAGE, DESCRIPTION, configure, run),
}
