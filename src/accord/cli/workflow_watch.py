"""`accord workflow watch`: a run as it happens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.parser import Parser
from accord.cli.run_progress import follow

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord workflow watch RUN [--json] [options]"

DESCRIPTION: Final = """\
Show what happened in a run and what happens, until the run has ended; then its output or error. The
exit code says how it ended. Ctrl-C stops the watching, not the run.

example:
  accord workflow watch 01a1e0a9-449f-773a-b820-387bc39619bb
"""


def configure(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="the id of a run")
    parser.add_argument("--json", action="store_true", help="one event in each line, for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.run is None:
        raise UsageError("a RUN is needed: the id of one")

    async def use(local: Local) -> int:
        caller = await caller_named(local, arguments.person)
        return await follow(local, caller, arguments.run, as_json=arguments.json)

    return run_local(arguments, use)
