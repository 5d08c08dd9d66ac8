"""`accord openrpc client`: a typed client, written from an OpenRPC document."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.openrpc_source import SOURCES, add_source, read_source
from accord.cli.output import print_json
from accord.cli.parser import Parser
from accord.openrpc.clients import DocumentError, read_api, write_python, write_typescript
from accord.transports.urls import shown

USAGE: Final = "accord openrpc client --lang python|typescript [options] DOC"

DESCRIPTION: Final = f"""\
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


def configure(parser: Parser) -> None:
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


def run(arguments: argparse.Namespace) -> int:
    language: str | None = arguments.lang
    if language is None:
        raise UsageError(f"--lang is missing: {' or '.join(FILES)}")
    if arguments.sync and language != "python":
        raise UsageError(f"--sync has no meaning for {language} (it is for python)")
    source = _source(language, arguments)
    if arguments.output is not None:
        file = _file(arguments.output, language)
        _write(source, file)
        if arguments.json:
            print_json({"language": language, "file": str(file)})
    elif arguments.json:
        print_json({"language": language, "source": source})
    else:
        sys.stdout.buffer.write(source.encode())
    return exits.OK


def _source(language: str, arguments: argparse.Namespace) -> str:
    try:
        api = read_api(read_source(arguments))
    except DocumentError as error:
        raise UsageError(f"{shown(arguments.document)}: {error}") from None
    command = _command(language, arguments)
    if language == "typescript":
        return write_typescript(api, command=command, flat=arguments.flat)
    return write_python(api, command=command, flat=arguments.flat, blocking=arguments.sync)


def _command(language: str, arguments: argparse.Namespace) -> str:
    """What to run for the same client again; nothing in it depends on where it is written to."""
    flags = [flag for flag in ("sync", "flat") if getattr(arguments, flag)]
    words = ["accord", "openrpc", "client", "--lang", language, *(f"--{flag}" for flag in flags)]
    return shlex.join([*words, shown(arguments.document)])


def _file(output: Path, language: str) -> Path:
    return output / FILES[language] if output.is_dir() else output


def _write(source: str, file: Path) -> None:
    try:
        file.write_bytes(source.encode())
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
