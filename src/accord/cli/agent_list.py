"""`accord agent list`: the agents that workflows may ask."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.local import add_local_flags, all_pages, run_local
from accord.cli.output import print_json
from accord.cli.parser import Parser
from accord.cli.table import print_table

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord agent list [--json] [options]"

DESCRIPTION: Final = """\
List the agents that are registered: where each is, how it is asked, and whether it answered when
it was asked for its card last.

example:
  accord agent list
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        agents = await all_pages(local, "list_agents")
        if arguments.json:
            print_json(agents)
            return exits.OK
        print_table(
            ("name", "url", "wire", "active", "health"),
            [
                (each.name, each.url, each.wire, "yes" if each.active else "no", each.health)
                for each in agents
            ],
        )
        return exits.OK

    return run_local(arguments, use)
