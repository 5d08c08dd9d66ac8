"""`accord hub export`: writes what is in the hub to a file, on the machine itself."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_import import formats
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_error_line, print_json
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.hub.operations.exchange import Export

USAGE: Final = "accord hub export [options]"

DESCRIPTION: Final = """\
Write everything in the hub, or one epic with what belongs to it, as JSON (complete), CSV, Markdown
or ReqIF. accord hub import takes each of them back. It works while the server runs.

examples:
  accord hub export -o backup.json --data /var/lib/accord
  accord hub export --format markdown --epic EP-003 | less
"""


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("--format", choices=formats(), help="the format (default: what FILE tells, else json)")
    add("--epic", metavar="ID", help="only this epic, by its reference id or UUID")
    add("-o", "--output", metavar="FILE", help="where to write it (default: stdout)")
    add(
        "--json",
        action="store_true",
        help="tell what was written, for programs; without -o with the content itself",
    )
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        from accord.hub.exchange.formats import Formats

        told = local.runner.service(Formats).of_file(arguments.output or "")
        format = arguments.format or told or "json"
        outcome = await local.run("export_items", format=format, epic_id=arguments.epic)
        _give(outcome.result, arguments)
        return exits.OK

    return run_local(arguments, use)


def _give(export: Export, arguments: argparse.Namespace) -> None:
    """Write it where it is wanted, and say so."""
    content = export.content.encode()
    if arguments.output is None:
        if arguments.json:
            print_json(export)
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return
    _write(Path(arguments.output), content)
    if arguments.json:
        told = {"format": export.format, "items": export.items, "file": arguments.output}
        print_json(told)
    else:
        print_error_line(f"{export.items:,} items in {arguments.output}")


def _write(path: Path, content: bytes) -> None:
    """Put the file in its place at once, so that no half of one is ever there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
