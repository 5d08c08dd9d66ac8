"""`accord hub import`: brings a file into the hub, on the machine itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_error_line, print_json, print_line, printable
from accord.cli.parser import Parser
from accord.cli.progress import Progress, add_quiet_flag, progress_of
from accord.cli.setting_flags import settings_from

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.hub.exchange.report import Report, Row

USAGE: Final = "accord hub import FILE [options]"

DESCRIPTION: Final = """\
Bring a file into the hub: JSON, CSV, Markdown or ReqIF (.reqif, .reqifz). What has a UUID or
reference id that is there already is changed to what the file says; everything else is new. All
rows are imported or none, unless --partial is given. It works while the server runs.

Names in a file of another project are names of its source: give it with --source, unless the file
names its repository. Items of another source are changed only with --on-conflict update, and so is
an item that a row names by its reference id alone, with a title that it never had.

examples:
  accord hub import requirements.csv --dry-run
  accord hub import backup.json --data /var/lib/accord
  accord hub import - --format markdown < notes.md
  accord hub import brake.reqif --source brake-project --partial
"""

OUR_FORMATS: Final = ("json", "csv", "markdown", "reqif")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", nargs="?", help="the file; - is stdin")
    add("--format", choices=formats(), help="its format, if its name does not tell")
    add("--dry-run", action="store_true", help="only say what would happen")
    add("--partial", action="store_true", help="import the rows that can be, leave out others")
    add("--source", metavar="NAME", help="the project or repository that the file is from")
    add(
        "--on-conflict",
        choices=("refuse", "update", "create"),
        default="refuse",
        help="for rows about items of another source (default: refuse the row)",
    )
    add("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.file is None:
        raise UsageError("a FILE is missing")
    format = arguments.format or _told(arguments)
    content = _content(arguments.file)

    async def use(local: Local) -> int:
        from accord.operations.arguments import convert
        from accord.operations.errors import ServiceError

        found = local.runner.registry["import_items"]
        given = {
            "format": format,
            "content": content,
            "partial": arguments.partial,
            "dry_run": arguments.dry_run,
            "source": arguments.source,
            "on_conflict": arguments.on_conflict,
        }
        caller = await caller_named(local, arguments.person)
        try:
            with progress_of(arguments, "importing", "rows") as progress:
                operation = replace(found, function=_importing(progress))
                outcome = await local.runner.run(operation, lambda: convert(found, given), caller)
        except ServiceError as error:
            if not arguments.json:
                _tell(error.data.get("rows", []))
            raise
        report = outcome.result.result if arguments.dry_run else outcome.result
        if arguments.json:
            print_json(report)
        else:
            _tell(report.rows)
            for each in report.not_kept:
                print_error_line(f"not kept: {printable(each.what)} ({each.count:,} times)")
            print_line(_summary(report, dry_run=arguments.dry_run))
        return exits.ANSWERED_WITH_ERROR if report.failed else exits.OK

    return run_local(arguments, use)


def _importing(progress: Progress) -> Callable[..., Awaitable[Report]]:
    """The function of the operation, which tells how far it is."""

    async def function(work: Any, **arguments: Any) -> Report:
        from accord.hub.exchange.importing import import_text

        return await import_text(work, **arguments, progress=progress)

    return function


def formats() -> list[str]:
    """Our own, and those that plugins add."""
    from accord.entry_points import names_in

    return [*OUR_FORMATS, *names_in("accord.importers")]


def _told(arguments: argparse.Namespace) -> str:
    from accord.app.plugins import load_plugins

    plugins = load_plugins(settings_from(arguments).settings.plugins)
    format = plugins.formats.of_file(arguments.file)
    if format is None:
        raise UsageError(f"the name {arguments.file!r} tells no format: give --format")
    return format


def _content(file: str) -> str:
    from accord.hub.exchange.decoding import content_of
    from accord.hub.exchange.project import MAX_CHARACTERS, FormatError

    most = MAX_CHARACTERS * 4
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(most + 1)
        else:
            with Path(file).open("rb") as opened:
                raw = opened.read(most + 1)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    if len(raw) > most:
        raise UsageError(f"{file} is longer than {most:,} bytes")
    try:
        return content_of(raw)
    except FormatError as error:
        raise UsageError(f"{file}: {error}") from None


def _tell(rows: list[Row]) -> None:
    """Say what went wrong, or otherwise than the file says: each thing once."""
    told: dict[str, list[int]] = {}
    for row in rows:
        for text in (*row.errors, *row.notes):
            if text.startswith("not kept: "):
                continue  # the totals say it
            told.setdefault(text, []).append(row.row)
    for text, places in told.items():
        others = f" and {len(places) - 1:,} others" if len(places) > 1 else ""
        print_error_line(f"row {places[0]:,}{others}: {printable(text)}")


def _summary(report: Report, *, dry_run: bool) -> str:
    counts = (
        f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged"
    )
    failed = f", {report.failed:,} failed" if report.failed else ""
    return f"{'would be: ' if dry_run else ''}{counts}{failed}"
