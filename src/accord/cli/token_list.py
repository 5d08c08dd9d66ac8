"""`accord token list`: the tokens of a person."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags, all_pages, run_local
from accord.cli.output import print_json
from accord.cli.parser import Parser
from accord.cli.table import print_table

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.operations.accounts.entities import Token

USAGE: Final = "accord token list --user NAME [--json] [options]"

DESCRIPTION: Final = """\
List the tokens of a person: how each begins and ends, what it may do, and until when.

example:
  accord token list --user ada
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--user", metavar="NAME", help="whose tokens")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.user is None:
        raise UsageError("--user is needed")

    async def use(local: Local) -> int:
        tokens = await all_pages(local, "list_tokens", user=arguments.user)
        if arguments.json:
            print_json(tokens)
        else:
            print_table(
                ("name", "token", "scopes", "until", "last used", "revoked"),
                [_row(each) for each in tokens],
            )
        return exits.OK

    return run_local(arguments, use)


def _row(token: Token) -> tuple[str, ...]:
    return (
        token.name,
        f"{token.prefix}…{token.last_four}",
        " ".join(token.scopes),
        token.expires_at[:10],
        (token.last_used_at or "never")[:10],
        (token.revoked_at or "no")[:10],
    )
