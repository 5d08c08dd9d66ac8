"""`accord workflow cancel`: cancels a run."""

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

USAGE: Final = "accord workflow cancel RUN [--reason TEXT] [options]"

DESCRIPTION: Final = """\
Cancel a run. Agents that work for it are told.

example:
  accord workflow cancel 01a1e0a9-449f-773a-b820-387bc39619bb --reason 'not needed any more'
"""


def configure(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="the id of a run")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.run is None:
        raise UsageError("a RUN is needed: the id of one")

    async def use(local: Local) -> int:
        caller = await caller_named(local, arguments.person)
        await call(local, caller, "cancel_run", run=arguments.run, reason=arguments.reason)
        if arguments.json:
            print_json(await call(local, caller, "get_run", id=arguments.run))
        else:
            print_line(f"{arguments.run} is to be cancelled")
        return exits.OK

    return run_local(arguments, use)
