"""`accord token revoke`: has a token refused from now on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord token revoke LABEL --user NAME [options]"

DESCRIPTION: Final = """\
Have a token refused from now on, also by a server that runs.

example:
  accord token revoke laptop --user ada
"""


def configure(parser: Parser) -> None:
    parser.add_argument("label", metavar="LABEL", nargs="?", help="the token's name, or its id")
    parser.add_argument("--user", metavar="NAME", help="whose token it is")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.label is None or arguments.user is None:
        raise UsageError("a LABEL and --user are needed")

    async def use(local: Local) -> int:
        revoked = await local.run("revoke_token", id=arguments.label, user=arguments.user)
        token = revoked.result
        if arguments.json:
            print_json(token)
        else:
            print_line(f"{token.user}'s token {token.name} is revoked")
        return exits.OK

    return run_local(arguments, use)
