"""`accord audit export`: all of the audit trail, to keep it elsewhere."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import BinaryIO, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.installation import audit_key, existing
from accord.cli.local import add_local_flags
from accord.cli.output import print_error_line, print_json
from accord.cli.parser import Parser
from accord.operations.audit.chain import Head
from accord.operations.audit.export import FORMATS, Format, Write, export
from accord.operations.errors import ConflictError
from accord.store import open_store

USAGE: Final = "accord audit export [--format jsonl|csv] [--output FILE] [options]"

DESCRIPTION: Final = """\
Write all records of the audit trail, in the order of the chain, to stdout or to a new file. The
last line is the head: kept out of reach of whoever can write to the database, it tells later
whether something was cut off (accord audit verify --head). In CSV, cells that a spreadsheet would
take for a formula begin with an apostrophe.

examples:
  accord audit export --data /var/lib/accord > trail.jsonl
  accord audit export --format csv --output trail.csv
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--format", choices=FORMATS, default="jsonl", help="(default: jsonl)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write to this new file")
    parser.add_argument(
        "--json",
        action="store_true",
        help="tell what was written, for programs; nothing but the records without --output",
    )
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.json and arguments.output is None and arguments.format != "jsonl":
        raise UsageError("--json needs --output FILE, or --format jsonl")
    settings = existing(arguments)
    key = audit_key(settings)
    if arguments.output is None:
        head = asyncio.run(
            _export(settings.database_url, key, sys.stdout.buffer.write, arguments.format)
        )
    else:
        with _new_file(arguments.output) as file:
            head = asyncio.run(_export(settings.database_url, key, file.write, arguments.format))
    if head is None:
        raise ConflictError("the trail has no genuine head: see accord audit verify")
    if not arguments.json:
        print_error_line(f"head {head}")
    elif arguments.output is not None:
        print_json({"format": arguments.format, "file": str(arguments.output), "head": str(head)})
    return exits.OK


async def _export(url: str, key: bytes, write: Write, format: Format) -> Head | None:
    async with open_store(url) as store:
        return await export(store, key, write, format=format)


def _new_file(path: Path) -> BinaryIO:
    """A file that nobody else can read. Raises `UsageError` where there is one already."""
    try:
        return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
