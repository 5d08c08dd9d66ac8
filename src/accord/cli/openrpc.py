"""`accord openrpc`: lint a document, print one, and generate a client from one.

Modules that only one of the commands needs are imported when that command runs.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import shlex
import ssl
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec
from msgspec import Raw

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import (
    SECURE_SCHEMES,
    WEB_SCHEMES,
    add_web_flags,
    check_flag,
    client_tls,
    header,
    read_scheme,
    seconds,
)
from accord.cli.output import paint, pretty, print_json, print_line, printable
from accord.jsonrpc.protocol.channel import MIB, Limits
from accord.jsonrpc.protocol.codec import REFUSALS, decode_json
from accord.jsonrpc.protocol.errors import ConnectError, RegistrationError
from accord.openrpc.info import DISCOVER
from accord.openrpc.linter import lint
from accord.openrpc.linter_rules import RULES, DocumentFinding
from accord.transports.connect import connect
from accord.transports.urls import shown

if TYPE_CHECKING:
    from accord.openrpc.api import Api

# Where documents come from


LARGEST_DOCUMENT: Final = 64 * MIB
DEFAULT_SECONDS: Final = 30.0

SOURCES: Final = """\
DOC is a file, - for stdin, the URL of a document (http:// or https://, ending in .json), or
the URL of a server, which is asked by rpc.discover (any URL that accord call takes)."""


def add_source(parser: Parser) -> None:
    """Add the argument DOC, and the flags for fetching the document from a server."""
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
    """Return the decoded OpenRPC document.

    Raises `UsageError` if the document cannot be read or decoded, and `TransportError` if its
    server cannot be reached.
    """
    source: str | None = arguments.document
    if source is None:
        raise UsageError("a DOC is missing: a file, - for stdin, or a URL")
    try:
        return decode_json(_read_bytes(source, arguments))
    except REFUSALS as error:
        raise UsageError(f"{shown(source)} is not JSON: {error}") from None


def _read_bytes(source: str, arguments: argparse.Namespace) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    if "://" not in source and not source.startswith("stdio:"):
        try:
            return Path(source).read_bytes()
        except OSError as error:
            raise UsageError(f"{source}: {error.strerror}") from None
    scheme = read_scheme(source)
    if scheme == "stdio" and not source.removeprefix("stdio:").strip("/ "):
        raise UsageError("stdio: needs a command to start, such as 'stdio:python server.py'")
    for flag, is_given, fits in (
        ("--header", bool(arguments.header), WEB_SCHEMES),
        ("--ca", arguments.ca is not None, SECURE_SCHEMES),
        ("--insecure", arguments.insecure, SECURE_SCHEMES),
    ):
        check_flag(flag, given=is_given, scheme=scheme, fits=fits)
    headers = dict(map(header, arguments.header))
    tls = client_tls(ca=arguments.ca, insecure=arguments.insecure)
    if scheme in ("http", "https") and urlsplit(source).path.endswith(".json"):
        return _get(source, headers, tls, arguments.timeout)
    return asyncio.run(_discover(source, headers, tls, arguments.timeout))


# A document


class _NoRedirects(HTTPRedirectHandler):
    """A handler that refuses redirects: headers may contain a token for one server only."""

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


# accord openrpc lint


LINT_USAGE: Final = "accord openrpc lint [options] DOC"

_RULES: Final = "\n".join(f"  {name:<22} {rule.about}" for name, rule in RULES.items())

LINT_DESCRIPTION: Final = f"""\
Find what is wrong with an OpenRPC document, beyond what its meta-schema can tell: one line for
each fault, with its place, what to do about it, and the rule. Warnings are for what other tools
stumble over.

{SOURCES}

examples:
  accord openrpc lint openrpc.json
  accord openrpc lint http://127.0.0.1:8000/rpc/openrpc.json
  accord openrpc lint tcp://127.0.0.1:7000 --json

rules:
{_RULES}
"""


def _configure_lint(parser: Parser) -> None:
    add_source(parser)
    parser.add_argument("--json", action="store_true", help="print what is found as JSON")
    parser.add_argument("--strict", action="store_true", help="fail on warnings too")


def _run_lint(arguments: argparse.Namespace) -> int:
    found = lint(read_source(arguments))
    if arguments.json:
        print_json(found)
    else:
        for finding in found:
            print_line(_finding_line(finding))
        print_line(_lint_summary(found))
    failed = [each for each in found if arguments.strict or each.severity == "error"]
    return exits.ANSWERED_WITH_ERROR if failed else exits.OK


def _finding_line(finding: DocumentFinding) -> str:
    label = paint(finding.severity, _STYLES[finding.severity], sys.stdout)
    rule = paint(f"[{finding.rule}]", "faint", sys.stdout)
    return f"{label} {printable(finding.path)}: {printable(finding.message)} {rule}"


_STYLES: Final = {"error": "error", "warning": "number"}


def _lint_summary(found: list[DocumentFinding]) -> str:
    errors = sum(each.severity == "error" for each in found)
    return f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


# accord openrpc document


DOCUMENT_USAGE: Final = "accord openrpc document [options] MODULE:ATTRIBUTE"

DOCUMENT_DESCRIPTION: Final = """\
Print the OpenRPC document of what a module holds: an accord.Router, an accord.openrpc.Api, an
application of Starlette or FastAPI, or a function without parameters that returns one of them.
The document of a web application is that of the Api mounted in it; if there is none, all its
routes are described.

examples:
  accord openrpc document service:router --title Users --api-version 1.0
  accord openrpc document service:app --server https://api.example.com/rpc > openrpc.json
"""

_FLAGS: Final = ("title", "api_version", "openrpc")


def _configure_document(parser: Parser) -> None:
    from accord.openrpc.document import OPENRPC

    add = parser.add_argument
    add("target", metavar="MODULE:ATTRIBUTE", nargs="?", help="what to describe")
    add("--title", help="what the API is called")
    add("--api-version", metavar="VERSION", help="the version of the API")
    add("--server", metavar="URL", help="where it is served")
    add("--openrpc", metavar="VERSION", help=f"the version of OpenRPC (default: {OPENRPC})")
    add("--json", action="store_true", help="print it on one line")


def _run_document(arguments: argparse.Namespace) -> int:
    try:
        document = _document(_load_target(arguments.target), arguments)
    except (RegistrationError, ValueError) as error:
        raise UsageError(str(error)) from error
    body = msgspec.json.encode(document)
    print_line(body if arguments.json else pretty(body, sys.stdout))
    return exits.OK


def _load_target(target: str | None) -> Any:
    """Import the object MODULE:ATTRIBUTE and return it.

    If the object is a function, it is called and its result returned. Raises `UsageError` if there
    is no such module or attribute.
    """
    module_name, colon, path = (target or "").partition(":")
    if not module_name or not colon or not path:
        raise UsageError("say what to describe as MODULE:ATTRIBUTE, such as service:app")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module_name)
    except Exception as error:  # the module is foreign code
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{module_name} cannot be imported: {why}") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise UsageError(f"{module_name} has no {path}") from None
    return found() if inspect.isfunction(found) else found


def _document(target: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from accord.jsonrpc.methods.router import Router
    from accord.openrpc.api import Api
    from accord.openrpc.document import OPENRPC, RouterDocument
    from accord.openrpc.expose import UNNAMED, UNVERSIONED, expose
    from accord.openrpc.info import Info, Server

    title, version = arguments.title, arguments.api_version
    openrpc = arguments.openrpc or OPENRPC
    servers = [Server(arguments.server)] if arguments.server else []
    if isinstance(target, Router):
        info = Info(title=title or UNNAMED, version=version or UNVERSIONED)
        return RouterDocument(target, info, servers=servers, openrpc=openrpc).to_json()
    api = target if isinstance(target, Api) else _mounted(target)
    if api is None:
        api = expose(target, title=title, version=version, servers=servers, openrpc=openrpc)
        return api.document()
    for flag in _FLAGS:
        if getattr(arguments, flag) is not None:
            name = flag.replace("_", "-")
            raise UsageError(f"--{name} has no meaning for an Api, which says so itself")
    return api.document(arguments.server or "")


def _mounted(app: Any) -> Api | None:
    """Return the first `Api` mounted in an ASGI application, None if there is none."""
    from accord.openrpc.api import Api

    mounts = (getattr(route, "app", None) for route in getattr(app, "routes", ()))
    return next((mount for mount in mounts if isinstance(mount, Api)), None)


# accord openrpc client


CLIENT_USAGE: Final = "accord openrpc client --lang python|typescript [options] DOC"

CLIENT_DESCRIPTION: Final = f"""\
Write a client for the methods of an OpenRPC document: one module with typed methods, and a type
for everything that they take and return. The Python client needs accord and msgspec; the
TypeScript client needs nothing.

{SOURCES}

examples:
  accord openrpc client --lang python openrpc.json -o shop.py
  accord openrpc client --lang typescript http://127.0.0.1:8000/rpc/openrpc.json -o src/
  accord openrpc client --lang python tcp://127.0.0.1:7000 --sync
"""

FILES: Final = {"python": "client.py", "typescript": "client.ts"}


def _configure_client(parser: Parser) -> None:
    add_source(parser)
    add = parser.add_argument
    add("--lang", choices=tuple(FILES), help="the language of the client")
    add(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="where to write it: a file, or a folder, in which it is called "
        f"{' or '.join(FILES.values())} (default: stdout)",
    )
    add("--sync", action="store_true", help="methods that block, for Python without an event loop")
    add(
        "--flat",
        action="store_true",
        help="all methods in one place: users_get instead of users.get",
    )
    add("--json", action="store_true", help="the client, or where it was written, as JSON")


def _run_client(arguments: argparse.Namespace) -> int:
    language: str | None = arguments.lang
    if language is None:
        raise UsageError(f"--lang is missing: {' or '.join(FILES)}")
    if arguments.sync and language != "python":
        raise UsageError(f"--sync has no meaning for {language} (it is for python)")
    source = _client_source(language, arguments)
    if arguments.output is not None:
        file = _client_file(arguments.output, language)
        _write_client(source, file)
        if arguments.json:
            print_json({"language": language, "file": str(file)})
    elif arguments.json:
        print_json({"language": language, "source": source})
    else:
        sys.stdout.buffer.write(source.encode())
    return exits.OK


def _client_source(language: str, arguments: argparse.Namespace) -> str:
    from accord.openrpc.clients import DocumentError, read_api, write_python, write_typescript

    try:
        api = read_api(read_source(arguments))
    except DocumentError as error:
        raise UsageError(f"{shown(arguments.document)}: {error}") from None
    command = _client_command(language, arguments)
    if language == "typescript":
        return write_typescript(api, command=command, flat=arguments.flat)
    return write_python(api, command=command, flat=arguments.flat, blocking=arguments.sync)


def _client_command(language: str, arguments: argparse.Namespace) -> str:
    """Return the command line that generates this client, for its header.

    The flag for the output file is left out.
    """
    flags = [flag for flag in ("sync", "flat") if getattr(arguments, flag)]
    words = ["accord", "openrpc", "client", "--lang", language, *(f"--{flag}" for flag in flags)]
    return shlex.join([*words, shown(arguments.document)])


def _client_file(output: Path, language: str) -> Path:
    return output / FILES[language] if output.is_dir() else output


def _write_client(source: str, file: Path) -> None:
    try:
        file.write_bytes(source.encode())
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


COMMANDS: Final = {
    "openrpc lint": Command(LINT_USAGE, LINT_DESCRIPTION, _configure_lint, _run_lint),
    "openrpc document": Command(
        DOCUMENT_USAGE, DOCUMENT_DESCRIPTION, _configure_document, _run_document
    ),
    "openrpc client": Command(CLIENT_USAGE, CLIENT_DESCRIPTION, _configure_client, _run_client),
}
