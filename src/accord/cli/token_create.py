"""`accord token create`: makes a token, on the machine itself, and prints it alone."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.operations.rights import SCOPES

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord token create --user NAME --name LABEL [options]"

DESCRIPTION: Final = """\
Make a token by which a program acts for a person, and print it alone on stdout. It is shown this
once. Without --scope it may do all that its owner's role allows, but for approving.

examples:
  accord token create --user ada --name laptop
  TOKEN=$(accord token create --user ada --name ci --scope read --scope comment --expires 30d)
"""

_DAYS: Final = re.compile(r"([0-9]{1,4})d?")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("--user", metavar="NAME", help="whose token it is")
    add("--name", metavar="LABEL", help="what it is called, unique among theirs")
    add(
        "--scope",
        metavar="SCOPE",
        action="append",
        choices=SCOPES,
        help=f"what it may do, one of {', '.join(SCOPES)}; can be repeated",
    )
    add("--expires", metavar="DAYS", type=_days, help="after how long, such as 30d (default: 90d)")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.user is None or arguments.name is None:
        raise UsageError("--user and --name are needed")
    given: dict[str, Any] = {"user": arguments.user, "name": arguments.name}
    if arguments.scope is not None:
        given["scopes"] = arguments.scope
    if arguments.expires is not None:
        given["expires_in"] = arguments.expires

    async def use(local: Local) -> int:
        made = (await local.run("create_token", **given)).result
        if arguments.json:
            print_json(made)
        else:
            print_line(made.token)
        return exits.OK

    return run_local(arguments, use)


def _days(text: str) -> int:
    match = _DAYS.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a number of days such as 30d, not {text!r}")
    return int(match[1])
