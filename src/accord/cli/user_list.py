"""`accord user list`: the people of an installation."""

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
    from accord.operations.accounts.entities import User

USAGE: Final = "accord user list [--json] [options]"

DESCRIPTION: Final = """\
List all people, those who were deactivated too.

example:
  accord user list --data /var/lib/accord
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        users: list[User] = await all_pages(local, "list_users")
        if arguments.json:
            print_json(users)
        else:
            print_table(
                ("name", "role", "email", "active"),
                [(each.username, each.role, each.email, _word(each.active)) for each in users],
            )
        return exits.OK

    return run_local(arguments, use)


def _word(active: bool) -> str:
    return "yes" if active else "no"
