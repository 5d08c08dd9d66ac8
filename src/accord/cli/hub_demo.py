"""`accord hub demo`: loads a sample project into the hub, on the machine itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord hub demo [options]"

DESCRIPTION: Final = """\
Load a sample project, to try things out with: the requirements of a ferry line, with relationships,
comments, prompts, labels and a baseline, and six people who cannot sign in. It works while the
server runs, and is refused where the project is there already. In a hub with items of its own it
takes the next free names, activates no prompt, and keeps a baseline of its first epic only.

examples:
  accord hub demo
  accord hub demo --data /var/lib/accord --as maria
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        from accord.hub.demo.loading import demo_operation, first_epic
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
