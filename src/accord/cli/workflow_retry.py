"""`accord workflow retry`: continues a run that failed or was cancelled."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.run_progress import call

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord workflow retry RUN [--step KEY] [options]"

DESCRIPTION: Final = """\
Continue a run that failed or was cancelled. What did not complete starts again, what completed
stays as it is. With --step, that step and everything after it runs again.

examples:
  accord workflow retry 01a1e0a9-449f-773a-b820-387bc39619bb
  accord workflow retry 01a1e0a9-449f-773a-b820-387bc39619bb --step review
"""


def configure(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="the id of a run")
    parser.add_argument("--step", metavar="KEY", help="run this step and all after it again")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.run is None:
        raise UsageError("a RUN is needed: the id of one")

    async def use(local: Local) -> int:
        caller = await caller_named(local, arguments.person)
        await call(local, caller, "retry_run", run=arguments.run, step=arguments.step)
        if arguments.json:
            print_json(await call(local, caller, "get_run", id=arguments.run))
        else:
            print_line(f"{arguments.run} goes on")
        return exits.OK

    return run_local(arguments, use)
