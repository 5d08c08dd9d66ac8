"""`accord hub`: commands that work on the requirements of an installation.

They import and export items, create the sample project, rebuild the search index, and run any
operation by name.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import read_params
from accord.cli.installation import (
    add_as_flag,
    add_local_flags,
    caller_named,
    run_local,
    settings_from,
)
from accord.cli.output import (
    Progress,
    add_quiet_flag,
    pretty,
    print_error_line,
    print_json,
    print_line,
    printable,
    progress_of,
)

if TYPE_CHECKING:
    from accord.app.runtime import Runtime
    from accord.hub.exchange.matching import ImportReport, ImportRow
    from accord.hub.operations.exchange import Export
    from accord.operations.operation import Operation
    from accord.operations.registry import Registry


# accord hub demo


DEMO_USAGE: Final = "accord hub demo [options]"

DEMO_DESCRIPTION: Final = """\
Load a sample project, to try things out with: the requirements of a ferry line, with relationships,
comments, prompts, labels and a baseline, and six people who cannot sign in. It works while the
server runs, and is refused where the project is there already. In a hub with items of its own it
takes the next free names, activates no prompt, and keeps a baseline of its first epic only.

examples:
  accord hub demo
  accord hub demo --data /var/lib/accord --as maria
"""


def _configure_demo(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def _run_demo(arguments: argparse.Namespace) -> int:
    async def use(local: Runtime) -> int:
        from accord.hub.demo_project import demo_operation, first_epic
        from accord.operations.arguments import convert

        operation = demo_operation()
        caller = await caller_named(local, arguments.person)
        outcome = await local.runner.run(operation, lambda: convert(operation, {}), caller)
        if arguments.json:
            print_json(outcome.result)
            return exits.OK
        report = outcome.result
        print_line(f"{report.created:,} things are in the hub now; begin with {first_epic(report)}")
        return exits.OK

    return run_local(arguments, use)


# accord hub import


IMPORT_USAGE: Final = "accord hub import FILE [options]"

IMPORT_DESCRIPTION: Final = """\
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


def _configure_import(parser: Parser) -> None:
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


def _run_import(arguments: argparse.Namespace) -> int:
    if arguments.file is None:
        raise UsageError("a FILE is missing")
    format = arguments.format or _format_of(arguments)
    content = _content(arguments.file)

    async def use(local: Runtime) -> int:
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
                _print_rows(error.data.get("rows", []))
            raise
        report = outcome.result.result if arguments.dry_run else outcome.result
        if arguments.json:
            print_json(report)
        else:
            _print_rows(report.rows)
            for each in report.not_kept:
                print_error_line(f"not kept: {printable(each.what)} ({each.count:,} times)")
            print_line(_import_summary(report, dry_run=arguments.dry_run))
        return exits.ANSWERED_WITH_ERROR if report.failed else exits.OK

    return run_local(arguments, use)


def _importing(progress: Progress) -> Callable[..., Awaitable[ImportReport]]:
    """Return a function that runs the import operation and reports its progress."""

    async def function(work: Any, **arguments: Any) -> ImportReport:
        from accord.hub.operations.exchange import import_text

        return await import_text(work, **arguments, progress=progress)

    return function


def formats() -> list[str]:
    """Return the names of all import formats, including those of plugins."""
    from accord.entry_points import names_in

    return [*OUR_FORMATS, *names_in("accord.importers")]


def _format_of(arguments: argparse.Namespace) -> str:
    from accord.app.composition import load_plugins

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


def _print_rows(rows: list[ImportRow]) -> None:
    """Print the errors and notes of imported rows.

    A text that several rows share is printed only once.
    """
    places_by_text: dict[str, list[int]] = {}
    for row in rows:
        for text in (*row.errors, *row.notes):
            if text.startswith("not kept: "):
                continue  # the totals say it
            places_by_text.setdefault(text, []).append(row.row)
    for text, places in places_by_text.items():
        others = f" and {len(places) - 1:,} others" if len(places) > 1 else ""
        print_error_line(f"row {places[0]:,}{others}: {printable(text)}")


def _import_summary(report: ImportReport, *, dry_run: bool) -> str:
    counts = (
        f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged"
    )
    failed = f", {report.failed:,} failed" if report.failed else ""
    return f"{'would be: ' if dry_run else ''}{counts}{failed}"


# accord hub export


EXPORT_USAGE: Final = "accord hub export [options]"

EXPORT_DESCRIPTION: Final = """\
Write everything in the hub, or one epic with what belongs to it, as JSON (complete), CSV, Markdown
or ReqIF. accord hub import takes each of them back. It works while the server runs.

examples:
  accord hub export -o backup.json --data /var/lib/accord
  accord hub export --format markdown --epic EP-003 | less
"""


def _configure_export(parser: Parser) -> None:
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


def _run_export(arguments: argparse.Namespace) -> int:
    async def use(local: Runtime) -> int:
        from accord.hub.exchange.formats import Formats

        detected = local.runner.service(Formats).of_file(arguments.output or "")
        format = arguments.format or detected or "json"
        outcome = await local.run("export_items", format=format, epic_id=arguments.epic)
        _write_export(outcome.result, arguments)
        return exits.OK

    return run_local(arguments, use)


def _write_export(export: Export, arguments: argparse.Namespace) -> None:
    """Write an export to stdout or to a file."""
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
        summary = {"format": export.format, "items": export.items, "file": arguments.output}
        print_json(summary)
    else:
        print_error_line(f"{export.items:,} items in {arguments.output}")


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old content or the new one.

    Raises `UsageError` if the file cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


# accord hub do


DO_USAGE: Final = "accord hub do [OPERATION [NAME=VALUE …]] [options]"

DO_DESCRIPTION: Final = """\
Run an operation: what REST, JSON-RPC and MCP offer, by the same names and with the same arguments,
on the machine itself and without a token. Without an operation, list them all; with --about, tell
what one does and takes. It works while the server runs, and is on record like everything else.

Values that are JSON are taken as such, all others are strings; `-` reads all arguments as one
JSON object from stdin. The result is JSON: indented for people, with --json in one line.

examples:
  accord hub do
  accord hub do create_epic --about
  accord hub do create_epic title='Booking a crossing' priority=1
  accord hub do list_requirements status=Active limit=5 --json
  accord hub do update_epic id=EP-001 status=Done dry_run=true --as maria
"""


def _configure_do(parser: Parser) -> None:
    add = parser.add_argument
    add("operation", metavar="OPERATION", nargs="?", help="what to do")
    add("arguments", metavar="NAME=VALUE", nargs="*", help="with what")
    add("--about", action="store_true", help="tell what the operation does and takes")
    add("--json", action="store_true", help="the result in one line, for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def _run_do(arguments: argparse.Namespace) -> int:
    from accord.app.composition import all_operations, load_plugins

    plugins = load_plugins(settings_from(arguments).settings.plugins)
    registry = all_operations(plugins.formats, plugins.operations)
    if arguments.operation is None:
        _list_operations(registry, as_json=arguments.json)
        return exits.OK
    found = _find_operation(registry, arguments.operation)
    if arguments.about:
        if arguments.json:
            print_json(_described(found))
        else:
            _print_operation(found)
        return exits.OK
    return run_local(arguments, lambda local: _do(local, found.name, arguments))


async def _do(local: Runtime, name: str, arguments: argparse.Namespace) -> int:
    from accord.operations.arguments import decode

    operation = local.runner.registry[name]
    params = read_params(arguments.arguments, sys.stdin.buffer.read)
    body = b"{}" if params is UNSET else bytes(params)
    caller = await caller_named(local, arguments.person)
    outcome = await local.runner.run(operation, lambda: decode(operation, body), caller)
    result = msgspec.json.encode(outcome.result)
    print_line(result if arguments.json else pretty(result, sys.stdout))
    return exits.OK


def _find_operation(registry: Registry, name: str) -> Operation:
    """Return the operation of this name.

    Raises `UsageError`, with similar names as advice, if there is no such operation.
    """
    operation = registry.get(name) or registry.get(name.replace("-", "_"))
    if operation is not None:
        return operation
    from difflib import get_close_matches

    close = get_close_matches(name, [each.name for each in registry])
    advice = f"did you mean {' or '.join(close)}?" if close else "accord hub do lists them all"
    raise UsageError(f"there is no operation {name!r}", advice=advice)


def _list_operations(registry: Registry, *, as_json: bool) -> None:
    if as_json:
        print_json([_described(operation) for operation in registry])
        return
    for operation in registry:
        print_line(f"{_signature(operation)}\n    {_first_sentence(operation)}")


def _described(operation: Operation) -> dict[str, Any]:
    from accord.schema.types import accepts

    return {
        "name": operation.name,
        "description": operation.description,
        "right": operation.right,
        "rest": [f"{rest.verb} /api/v1{rest.path}" for rest in operation.rest],
        "parameters": [
            {"name": each.name, "required": each.required, "schema": accepts(each.annotation).value}
            for each in operation.parameters
        ],
    }


def _signature(operation: Operation) -> str:
    words = (each.name if each.required else f"[{each.name}]" for each in operation.parameters)
    return f"{operation.name}({', '.join(words)})"


def _first_sentence(operation: Operation) -> str:
    return " ".join(operation.description.split("\n\n")[0].split())


def _print_operation(operation: Operation) -> None:
    description = _described(operation)
    print_line(f"{_signature(operation)}\n\n{description['description']}\n")
    print_line(f"needs the right {description['right']}")
    for route in description["rest"]:
        print_line(route)
    for each in description["parameters"]:
        schema = msgspec.json.encode(each["schema"]).decode()
        print_line(f"  {each['name']}{'' if each['required'] else ' (optional)'}: {schema}")


# accord hub reindex


REINDEX_USAGE: Final = "accord hub reindex [options]"

REINDEX_DESCRIPTION: Final = """\
Write the search index anew, from what is in the hub. Nothing else is changed; writes wait until it
is done.

example:
  accord hub reindex --data /var/lib/accord
"""


def _configure_reindex(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def _run_reindex(arguments: argparse.Namespace) -> int:
    async def use(local: Runtime) -> int:
        from accord.hub.search_index import rebuild
        from accord.operations.storage import LANE

        store = local.store
        with progress_of(arguments, "indexing", "entries") as progress:
            count = await store.transact(
                lambda db: rebuild(db, store.engine, progress=progress), lane=LANE
            )
        if arguments.json:
            print_json({"entries": count})
        else:
            print_line(f"{count:,} entries")
        return exits.OK

    return run_local(arguments, use)


COMMANDS: Final = {
    "hub demo": Command(DEMO_USAGE, DEMO_DESCRIPTION, _configure_demo, _run_demo),
    "hub import": Command(IMPORT_USAGE, IMPORT_DESCRIPTION, _configure_import, _run_import),
    "hub export": Command(EXPORT_USAGE, EXPORT_DESCRIPTION, _configure_export, _run_export),
    "hub do": Command(DO_USAGE, DO_DESCRIPTION, _configure_do, _run_do),
    "hub reindex": Command(REINDEX_USAGE, REINDEX_DESCRIPTION, _configure_reindex, _run_reindex),
}
