"""`accord workflow run`: starts a run, and waits for its end where that is wanted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_error_line, print_json, print_line
from accord.cli.parser import Parser
from accord.cli.run_progress import CODES, call, print_end
from accord.jsonrpc.nesting import decode_json

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord workflow run NAME[@VERSION] [--input JSON|@FILE] [--wait] [--json] [options]"

DESCRIPTION: Final = """\
Start a run of a workflow. Its id is printed; with --wait, what came of it: its output, and an exit
code that says how it ended. Runs are executed by `accord serve`, or by `accord executor`.

The input is JSON, a file with JSON (@FILE), or what stdin gives (@-).

examples:
  accord workflow run review --input '{"text": "The ferry shall be fast."}' --wait
  accord workflow run review@2 --input @request.json --key order-7
"""

NO_EXECUTOR: Final = "nobody executes runs at the moment: start accord serve"


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="of the workflow, with or without a version")
    add("--input", metavar="JSON", help="what the run is given, or @FILE")
    add("--key", metavar="KEY", help="an idempotency key: the same again starts nothing")
    add("--wait", action="store_true", help="wait until the run has ended")
    add("--json", action="store_true", help="the whole run in one line, for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        raise UsageError("a NAME is needed: accord workflow list shows what there is")
    given = {"name": arguments.name, "input": read_input(arguments.input)}
    if arguments.key is not None:
        given["idempotency_key"] = arguments.key
    return run_local(arguments, lambda local: _start(local, given, arguments))


async def _start(local: Local, given: dict[str, Any], arguments: argparse.Namespace) -> int:
    from accord.workflows.membership import is_alive

    caller = await caller_named(local, arguments.person)
    if not await is_alive(local.store, "executor"):
        if arguments.wait:
            raise UsageError(NO_EXECUTOR)
        print_error_line(f"note: {NO_EXECUTOR}")
    started = msgspec.to_builtins(await call(local, caller, "run_workflow", **given))
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
    """What `--input` says. Raises `UsageError`."""
    if text is None:
        return None
    data = _file(text[1:]) if text.startswith("@") else text.encode(errors="surrogateescape")
    try:
        return decode_json(data)
    except msgspec.DecodeError as error:
        raise UsageError(f"the input is no JSON: {error}") from None


def _file(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None
