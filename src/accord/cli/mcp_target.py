"""The MCP server that a command talks to: a URL, a command, or a Python file; and the flags that
say how to reach it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from accord.cli import schemes
from accord.cli.certificates import client_tls
from accord.cli.exits import UsageError
from accord.cli.flags import add_web_flags, duration, header
from accord.cli.mcp_file import ServerFile
from accord.cli.output import paint, print_error_line, printable
from accord.cli.parser import Parser
from accord.mcp.client.client import Client
from accord.mcp.protocol.params import LogParams, ProgressParams
from accord.mcp.protocol.versions import VERSIONS

DEFAULT_SECONDS: Final = 30.0

TARGETS: Final = """\
TARGET is a URL (http://…, https://…, ws://…, wss://…, tcp://…, tls://…, unix:///PATH), a command
that starts a server on stdin and stdout, in one word ('npx -y some-server'), or a Python file
that holds one (server.py or server.py:NAME)."""


def add_target(parser: Parser) -> None:
    """The argument TARGET, and the flags that tell how to get at it."""
    add = parser.add_argument
    add("target", metavar="TARGET", nargs="?", help="the server: a URL, a command or a file")
    add("--token", help="send this bearer token (http, https)")
    add_web_flags(parser)
    add(
        "--protocol",
        metavar="VERSION",
        choices=VERSIONS,
        help="speak this version of the protocol (default: the newest that the server knows)",
    )
    add(
        "--timeout",
        metavar="SECONDS",
        type=duration,
        default=DEFAULT_SECONDS,
        help=f"how long to wait for an answer, or none (default: {DEFAULT_SECONDS:g})",
    )
    add("--json", action="store_true", help="print JSON, as programs want it")
    add("-v", "--verbose", action="store_true", help="show progress and log messages on stderr")


def talk(arguments: argparse.Namespace, use: Callable[[Client], Awaitable[int]]) -> int:
    """Connect, have `use` talk to the server, and give its exit code."""
    level = logging.DEBUG if arguments.debug else logging.CRITICAL
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    client = _client(arguments)

    async def main() -> int:
        async with client:
            return await use(client)

    return asyncio.run(main())


def _client(arguments: argparse.Namespace) -> Client:
    target = read_target(arguments.target)
    scheme = urlsplit(target).scheme if isinstance(target, str) else "stdio"
    for flag, given, fits in (
        ("--header", bool(arguments.header), schemes.WEB),
        ("--token", arguments.token is not None, frozenset({"http", "https"})),
        ("--ca", arguments.ca is not None, schemes.SECURE),
        ("--insecure", arguments.insecure, schemes.SECURE),
    ):
        schemes.check_flag(flag, given=given, scheme=scheme, fits=fits)
    shown: dict[str, Any] = (
        {"logging": _show_log, "progress": _show_progress} if arguments.verbose else {}
    )
    return Client(
        target,
        headers=dict(map(header, arguments.header)),
        auth=arguments.token,
        protocol_version=arguments.protocol,
        timeout=arguments.timeout,
        longest=None,
        tls=client_tls(ca=arguments.ca, insecure=arguments.insecure),
        **shown,
    )


def read_target(text: str | None) -> str | list[str]:
    """What a client is to connect to: a URL, or a command. Raises `UsageError`."""
    if not text:
        raise UsageError("a TARGET is missing: a URL, a command or a Python file")
    if "://" in text.split(maxsplit=1)[0]:
        schemes.read_scheme(text)
        return text
    if _is_python(text):
        return [*ACCORD, "mcp", "run", str(ServerFile.read(text))]
    try:
        command = shlex.split(text.removeprefix("stdio:"))
    except ValueError as error:
        raise UsageError(f"{text!r} is no command: {error}") from None
    if not command:
        raise UsageError("the command to start is empty")
    return command


ACCORD: Final = (sys.executable, "-m", "accord")
"""This program, as a command."""


def _is_python(text: str) -> bool:
    file, _, _ = text.partition(".py:")
    return " " not in text and (text.endswith(".py") or f"{file}.py:" in text)


def _show_log(message: LogParams) -> None:
    label = paint(f"{message.level} {printable(message.logger)}".rstrip(), "faint", sys.stderr)
    print_error_line(f"{label} {printable(msgspec.json.encode(message.data).decode())}")


def _show_progress(progress: ProgressParams) -> None:
    label = paint("progress", "faint", sys.stderr)
    of = "" if progress.total is None else f" of {progress.total:g}"
    print_error_line(f"{label} {progress.progress:g}{of} {printable(progress.message)}".rstrip())
