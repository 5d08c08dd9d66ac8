"""`accord workflow`: definitions of workflows and their runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.installation import (
    add_as_flag,
    add_local_flags,
    add_setting_flags,
    all_pages,
    caller_named,
    is_there,
    run_as,
    run_local,
    settings_from,
)
from accord.cli.output import (
    add_quiet_flag,
    paint,
    pretty,
    print_error_line,
    print_json,
    print_line,
    print_table,
    printable,
    progress_of,
)
from accord.jsonrpc.protocol.codec import decode_json

if TYPE_CHECKING:
    from accord.app.runtime import Runtime
    from accord.operations.context import Caller
    from accord.workflows.core.errors import Problem
    from accord.workflows.core.rules import Known
    from accord.workflows.operations.run_views import Run, RunEvent


# accord workflow validate


VALIDATE_USAGE: Final = "accord workflow validate FILE [--json] [options]"

VALIDATE_DESCRIPTION: Final = """\
Find everything that is wrong with the definition of a workflow, in YAML or JSON, each with its
place. Agents, operations and workflows that it names must be there in the installation; where there
is no installation, only operations are looked for.

example:
  accord workflow validate review.yaml
"""


def _configure_validate(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a definition; - is stdin")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_validate(arguments: argparse.Namespace) -> int:
    if arguments.file is None:
        raise UsageError("a FILE is needed")
    text = read_definition_file(arguments.file)
    settings = settings_from(arguments).settings
    if not is_there(settings):
        return _print_problems(
            text,
            _known_without_installation(settings.plugins),
            arguments,
            "agents and workflows were not looked for",
        )

    async def use(local: Runtime) -> int:
        return _print_problems(text, await _known_here(local), arguments)

    return run_local(arguments, use)


def read_definition_file(name: str) -> bytes:
    """Read a definition from a file or stdin. Raises `UsageError` if that fails."""
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None


def _print_problems(
    text: bytes, known: Known, arguments: argparse.Namespace, note: str = ""
) -> int:
    problems = _problems_in(text, known)
    if arguments.json:
        print_json({"valid": not problems, "problems": problems})
    for each in () if arguments.json else problems:
        print_line(f"{paint(printable(each.path), 'key', sys.stdout)}: {_problem_line(each)}")
    if not arguments.json:
        print_line(_problem_summary(problems, arguments.file, note))
    return exits.ANSWERED_WITH_ERROR if problems else exits.OK


def _problems_in(text: bytes, known: Known) -> list[Problem]:
    from accord.workflows.core.errors import DefinitionError
    from accord.workflows.core.reading import read_text

    try:
        read_text(text, "yaml", known)
    except DefinitionError as error:
        return list(error.problems)
    return []


def _problem_line(problem: Problem) -> str:
    return printable(f"{problem.message} ({problem.hint})" if problem.hint else problem.message)


def _problem_summary(problems: list[Problem], file: str, note: str) -> str:
    count = len(problems)
    if count:
        return "1 problem" if count == 1 else f"{count} problems"
    return f"{file} is valid" + (f"; {note}" if note else "")


async def _known_here(local: Runtime) -> Known:
    from accord.workflows.operations.workflows import known_names

    return await local.store.read(
        lambda db: known_names(db, local.runner.registry, local.events.kinds, local.plugins.steps)
    )


def _known_without_installation(allowed: list[str]) -> Known:
    from accord.app.composition import EVENT_KINDS, all_operations, load_plugins
    from accord.workflows.core.rules import Known
    from accord.workflows.operations.workflows import callable_operations

    plugins = load_plugins(allowed)
    return Known(
        operations=callable_operations(all_operations(further=plugins.operations)),
        kinds=EVENT_KINDS,
        steps=plugins.steps.taken,
    )


# accord workflow save


SAVE_USAGE: Final = "accord workflow save FILE [options]"

SAVE_DESCRIPTION: Final = """\
Save the definition of a workflow, in YAML or JSON, as its next version. The same definition again
makes no new version. What is wrong with it is told, each problem with its place.

example:
  accord workflow save review.yaml
"""


def _configure_save(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a definition; - is stdin")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def _run_save(arguments: argparse.Namespace) -> int:
    if arguments.file is None:
        raise UsageError("a FILE is needed")
    try:
        text = read_definition_file(arguments.file).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{arguments.file} is not UTF-8") from None

    async def use(local: Runtime) -> int:
        from accord.workflows.operations.workflows import DefinitionRefusedError

        caller = await caller_named(local, arguments.person)
        try:
            saved = await call(local, caller, "create_workflow", definition=text)
        except DefinitionRefusedError as error:
            if arguments.json:
                raise
            for each in error.data["problems"]:
                hint = f" ({each['hint']})" if each["hint"] else ""
                print_line(printable(f"{each['path']}: {each['message']}{hint}"))
            return exits.ANSWERED_WITH_ERROR
        if arguments.json:
            print_json(saved)
        else:
            print_line(f"{saved.id} is saved")
        return exits.OK

    return run_local(arguments, use)


# accord workflow list


LIST_USAGE: Final = "accord workflow list [--runs [--of NAME] [--state STATE]] [--json] [options]"

LIST_DESCRIPTION: Final = """\
List workflows in their newest versions; or with --runs the newest hundred runs.

examples:
  accord workflow list
  accord workflow list --runs --of review --state waiting
"""

STATES: Final = ("pending", "running", "waiting", "paused", "completed", "failed", "cancelled")


def _configure_list(parser: Parser) -> None:
    add = parser.add_argument
    add("--runs", action="store_true", help="list runs")
    add("--of", metavar="NAME", help="of this workflow, with or without a version")
    add("--state", choices=STATES, help="in this state")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_list(arguments: argparse.Namespace) -> int:
    return run_local(arguments, lambda local: _list_found(local, arguments))


async def _list_found(local: Runtime, arguments: argparse.Namespace) -> int:
    found = await (_runs(local, arguments) if arguments.runs else _workflows(local))
    if arguments.json:
        print_json(found)
    elif arguments.runs:
        print_table(("run", "workflow", "state", "by", "since"), list(map(_run_row, found)))
    else:
        print_table(("workflow", "active", "since", "description"), list(map(_workflow_row, found)))
    return exits.OK


async def _runs(local: Runtime, arguments: argparse.Namespace) -> list[Any]:
    filters = {"workflow": arguments.of, "state": arguments.state}
    found: list[Any] = (await local.run("list_runs", **filters, limit=100)).result.items
    return found


async def _workflows(local: Runtime) -> list[Any]:
    return await all_pages(local, "list_workflows")


def _workflow_row(each: Any) -> tuple[str, ...]:
    active = "yes" if each.active else "no"
    return each.id, active, each.created_at[:10], each.description[:60]


def _run_row(each: Any) -> tuple[str, ...]:
    workflow = f"{each.workflow}@{each.workflow_version}"
    return each.id, workflow, each.state, each.started_by, each.created_at[:19]


# accord workflow run


RUN_USAGE: Final = (
    "accord workflow run NAME[@VERSION] [--input JSON|@FILE] [--wait] [--json] [options]"
)

RUN_DESCRIPTION: Final = """\
Start a run of a workflow. Its id is printed; with --wait, what came of it: its output, and an exit
code that says how it ended. Runs are executed by `accord serve`, or by `accord executor`.

The input is JSON, a file with JSON (@FILE), or what stdin gives (@-).

examples:
  accord workflow run review --input '{"text": "The ferry shall be fast."}' --wait
  accord workflow run review@2 --input @request.json --key order-7
"""

NO_EXECUTOR: Final = "nobody executes runs at the moment: start accord serve"


def _configure_run(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="of the workflow, with or without a version")
    add("--input", metavar="JSON", help="what the run is given, or @FILE")
    add("--key", metavar="KEY", help="an idempotency key: the same again starts nothing")
    add("--wait", action="store_true", help="wait until the run has ended")
    add("--json", action="store_true", help="the whole run in one line, for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def _run_run(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        raise UsageError("a NAME is needed: accord workflow list shows what there is")
    start = {"name": arguments.name, "input": read_input(arguments.input)}
    if arguments.key is not None:
        start["idempotency_key"] = arguments.key
    return run_local(arguments, lambda local: _start_run(local, start, arguments))


async def _start_run(local: Runtime, start: dict[str, Any], arguments: argparse.Namespace) -> int:
    from accord.workflows.storage.leases import is_alive

    caller = await caller_named(local, arguments.person)
    if not await is_alive(local.store, "executor"):
        if arguments.wait:
            raise UsageError(NO_EXECUTOR)
        print_error_line(f"note: {NO_EXECUTOR}")
    started = msgspec.to_builtins(await call(local, caller, "run_workflow", **start))
    if not arguments.wait:
        print_line(msgspec.json.encode(started) if arguments.json else started["id"])
        return exits.OK
    await local.watch.wait(started["id"], None)
    ended = await call(local, caller, "get_run", id=started["id"])
    if arguments.json:
        print_json(ended)
    else:
        print_end(ended)
    return CODES[ended.state]


def read_input(text: str | None) -> Any:
    """Return the value of `--input`: JSON, or `@FILE` for JSON in a file.

    Raises `UsageError` if the value is not JSON or the file cannot be read.
    """
    if text is None:
        return None
    data = _input_file(text[1:]) if text.startswith("@") else text.encode(errors="surrogateescape")
    try:
        return decode_json(data)
    except msgspec.DecodeError as error:
        raise UsageError(f"the input is no JSON: {error}") from None


def _input_file(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None


# accord workflow watch


WATCH_USAGE: Final = "accord workflow watch RUN [--json] [options]"

WATCH_DESCRIPTION: Final = """\
Show what happened in a run and what happens, until the run has ended; then its output or error. The
exit code says how it ended. Ctrl-C stops the watching, not the run.

example:
  accord workflow watch 01a1e0a9-449f-773a-b820-387bc39619bb
"""


def _configure_watch(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="the id of a run")
    parser.add_argument("--json", action="store_true", help="one event in each line, for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def _run_watch(arguments: argparse.Namespace) -> int:
    if arguments.run is None:
        raise UsageError("a RUN is needed: the id of one")

    async def use(local: Runtime) -> int:
        caller = await caller_named(local, arguments.person)
        return await follow(local, caller, arguments.run, as_json=arguments.json)

    return run_local(arguments, use)


# Progress of a run


CODES: Final = {
    "completed": exits.OK,
    "failed": exits.RUN_FAILED,
    "cancelled": exits.RUN_CANCELLED,
}
_EVENTS: Final[Mapping[str, str]] = {
    "run_started": "started",
    "step_started": "{key} started",
    "task_succeeded": "{task} completed",
    "task_failed": "{task} failed: {error[message]}",
    "task_asked": "{task} asks for input",
    "task_continued": "{key} got its input",
    "signal_received": "got the signal {name}",
    "approval_given": "{task} was decided by {by}",
    "pause_requested": "paused by {by}",
    "resume_requested": "resumed by {by}",
    "cancel_requested": "is to be cancelled, says {by}",
    "retry_requested": "is to be retried, says {by}",
    "step_failed": "{key} failed: {error[message]}",
    "step_settled": "{key} is over",
    "timer_fired": "{key} is due",
    "run_finished": "{status}",
}


async def follow(local: Runtime, caller: Caller, run_id: str, *, as_json: bool) -> int:
    """Print the events of a run until it has ended. Return the exit code.

    Raises NotFoundError if there is no such run.
    """
    from accord.workflows.operations.run_views import shown_event

    found: Run = await call(local, caller, "get_run", id=run_id)
    if found.problem is not None:
        print_error_line(f"note: the run does not go on: {printable(found.problem.message)}")
    printed: set[str] = set()
    async with aclosing(local.watch.follow(run_id)) as following:
        async for events in following:
            for number, event in events:
                record = shown_event(number, event)
                print_line(msgspec.json.encode(record) if as_json else _event_line(record))
            if events and not as_json:
                _print_approvals(await call(local, caller, "get_run", id=run_id), printed)
    run: Run = await call(local, caller, "get_run", id=run_id)
    if not as_json:
        print_end(run)
    return CODES[run.state]


async def call(local: Runtime, caller: Caller, operation: str, **arguments: Any) -> Any:
    """Run an operation as `caller`; return only the result, unlike `run_as`."""
    return (await run_as(local, caller, operation, **arguments)).result


def _print_approvals(run: Run, printed: set[str]) -> None:
    """Print the approvals that a run waits for, and add them to `printed`.

    Approvals that are already in `printed` are skipped.
    """
    for each in run.approvals:
        if f"{each.key} {each.since}" not in printed:
            printed.add(f"{each.key} {each.since}")
            message = f": {each.message}" if each.message else ""
            line = f"{each.key} waits for the approval of {' or '.join(each.by)}{message}"
            print_line(f"          {printable(line)}")
            if each.data is not None:
                print_line(pretty(msgspec.json.encode(each.data), sys.stdout))


def print_end(run: Run) -> None:
    """Print the output or the error of a run."""
    if run.error is not None:
        print_line(paint(f"{run.error.code}: {printable(run.error.message)}", "error", sys.stdout))
    elif run.state == "completed":
        print_line(pretty(msgspec.json.encode(run.output), sys.stdout))


def _event_line(event: RunEvent) -> str:
    words = _EVENTS.get(event.type, event.type)
    if event.type == "retry_requested" and "step" in event.detail:
        words = "is to be retried from {step}, says {by}"
    try:
        text = printable(words.format_map(_EventDetails(event.detail)))
    except (AttributeError, TypeError, KeyError):  # a newer release has other details
        text = event.type
    return f"{paint(event.at[11:19], 'faint', sys.stdout)}  {text}"


class _EventDetails(dict[str, Any]):
    """The details of an event of a run; a missing detail is an empty text."""

    def __missing__(self, key: str) -> str:
        return ""


# accord workflow archive


ARCHIVE_USAGE: Final = (
    "accord workflow archive [--keep-runs-days DAYS] [--old-runs archive|remove] [options]"
)

ARCHIVE_DESCRIPTION: Final = """\
Move runs that ended long ago from the database to files in the data directory, archive/runs-YEAR-
MONTH.jsonl, a line of JSON each with its whole history; or remove them for good. Executors do the
same every hour.

examples:
  accord workflow archive --data /var/lib/accord
  accord workflow archive --keep-runs-days 30 --old-runs remove
"""


def _configure_archive(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_setting_flags(parser, ("data", "database", "keep_runs_days", "old_runs"))


def _run_archive(arguments: argparse.Namespace) -> int:
    from accord.app.runtime import run_retention

    settings = settings_from(arguments).settings

    async def archive(local: Runtime) -> int:
        try:
            with progress_of(arguments, "archiving", "runs") as progress:
                count = await run_retention(settings, local.store).sweep(progress)
        except OSError as error:
            raise UsageError(f"cannot write to {error.filename}: {error.strerror}") from None
        done = "archived" if settings.old_runs == "archive" else "removed"
        if arguments.json:
            print_json({"runs": count, "done": done})
        else:
            print_line(f"{count:,} runs {done}")
        return exits.OK

    return run_local(arguments, archive)


COMMANDS: Final = {
    "workflow validate": Command(
        VALIDATE_USAGE, VALIDATE_DESCRIPTION, _configure_validate, _run_validate
    ),
    "workflow save": Command(SAVE_USAGE, SAVE_DESCRIPTION, _configure_save, _run_save),
    "workflow list": Command(LIST_USAGE, LIST_DESCRIPTION, _configure_list, _run_list),
    "workflow run": Command(RUN_USAGE, RUN_DESCRIPTION, _configure_run, _run_run),
    "workflow watch": Command(WATCH_USAGE, WATCH_DESCRIPTION, _configure_watch, _run_watch),
    "workflow archive": Command(
        ARCHIVE_USAGE, ARCHIVE_DESCRIPTION, _configure_archive, _run_archive
    ),
}
