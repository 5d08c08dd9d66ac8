"""Where the commands of `accord openrpc` have their document from: a file, a URL, a server."""

from __future__ import annotations

import argparse
import asyncio
import ssl
import sys
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from msgspec import Raw

from accord.cli import schemes
from accord.cli.certificates import client_tls
from accord.cli.exits import UsageError
from accord.cli.flags import add_web_flags, header, seconds
from accord.cli.parser import Parser
from accord.jsonrpc.codec import REFUSALS
from accord.jsonrpc.errors import ConnectError
from accord.jsonrpc.limits import MIB, Limits
from accord.jsonrpc.nesting import decode_json
from accord.openrpc.discover import DISCOVER
from accord.transports.connect import connect
from accord.transports.urls import shown

LARGEST_DOCUMENT: Final = 64 * MIB
DEFAULT_SECONDS: Final = 30.0

SOURCES: Final = """\
DOC is a file, - for stdin, the URL of a document (http:// or https://, ending in .json), or
the URL of a server, which is asked by rpc.discover (any URL that accord call takes)."""


def add_source(parser: Parser) -> None:
    """The argument DOC, and the flags that tell how to get at it."""
    add = parser.add_argument
    add("document", metavar="DOC", nargs="?", help="where the OpenRPC document is")
    add_web_flags(parser)
    add(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=DEFAULT_SECONDS,
        help=f"how long to wait for a server (default: {DEFAULT_SECONDS:g})",
    )


def read_source(arguments: argparse.Namespace) -> Any:
    """The document that the arguments name, decoded. Raises `UsageError` or `TransportError`."""
    source: str | None = arguments.document
    if source is None:
        raise UsageError("a DOC is missing: a file, - for stdin, or a URL")
    try:
        return decode_json(_read(source, arguments))
    except REFUSALS as error:
        raise UsageError(f"{shown(source)} is not JSON: {error}") from None


def _read(source: str, arguments: argparse.Namespace) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    if "://" not in source and not source.startswith("stdio:"):
        try:
            return Path(source).read_bytes()
        except OSError as error:
            raise UsageError(f"{source}: {error.strerror}") from None
    scheme = schemes.read_scheme(source)
    if scheme == "stdio" and not source.removeprefix("stdio:").strip("/ "):
        raise UsageError("stdio: needs a command to start, such as 'stdio:python server.py'")
    for flag, given, fits in (
        ("--header", bool(arguments.header), schemes.WEB),
        ("--ca", arguments.ca is not None, schemes.SECURE),
        ("--insecure", arguments.insecure, schemes.SECURE),
    ):
        schemes.check_flag(flag, given=given, scheme=scheme, fits=fits)
    headers = dict(map(header, arguments.header))
    tls = client_tls(ca=arguments.ca, insecure=arguments.insecure)
    if scheme in ("http", "https") and urlsplit(source).path.endswith(".json"):
        return _get(source, headers, tls, arguments.timeout)
    return asyncio.run(_discover(source, headers, tls, arguments.timeout))


# A document


class _NoRedirects(HTTPRedirectHandler):
    """Headers may hold a token, which is not for whoever a server names."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _get(url: str, headers: dict[str, str], tls: ssl.SSLContext | None, timeout: float) -> bytes:
    opener = build_opener(_NoRedirects, HTTPSHandler(context=tls))
    request = Request(url, headers={"Accept": "application/json", **headers})
    try:
        with opener.open(request, timeout=timeout) as answer:
            body: bytes = answer.read(LARGEST_DOCUMENT + 1)
    except HTTPError as error:
        where = error.headers.get("Location", "")
        redirect = f" and leads to {shown(where)}" if where else ""
        raise UsageError(f"{shown(url)} answers {error.code} {error.reason}{redirect}") from None
    except (URLError, TimeoutError, ConnectionError) as error:
        why = getattr(error, "reason", error)
        raise ConnectError(f"cannot get {shown(url)}: {why}") from None
    if len(body) > LARGEST_DOCUMENT:
        raise UsageError(f"{shown(url)} is over the limit of {LARGEST_DOCUMENT:,} bytes")
    return body


# A server


async def _discover(
    url: str, headers: dict[str, str], tls: ssl.SSLContext | None, timeout: float
) -> bytes:
    limits = Limits(max_message_bytes=LARGEST_DOCUMENT)
    async with connect(url, timeout=timeout, limits=limits, headers=headers, tls=tls) as peer:
        return bytes(await peer.call(DISCOVER, into=Raw))
