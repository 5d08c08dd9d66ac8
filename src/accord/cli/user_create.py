"""`accord user create`: adds a person, on the machine itself."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord user create NAME --role ROLE [options]"

DESCRIPTION: Final = """\
Add a person. Without a password they cannot sign in, but programs can act for them with a token
(accord token create). It works while the server runs, and needs no password: whoever can read the
data directory may do it.

examples:
  accord user create ada --role administrator --data /var/lib/accord
  pass show accord/ada | accord user create ada --role user --password-stdin
"""

ROLES: Final = ("administrator", "user", "commenter")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="what they are called")
    add("--role", choices=ROLES, help="what they may do")
    add("--email", metavar="ADDRESS", default="", help="how they are reached")
    add("--password-stdin", action="store_true", help="read their password from stdin")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name is None or arguments.role is None:
        raise UsageError("a NAME and a --role are needed")
    given: dict[str, Any] = {
        "username": arguments.name,
        "role": arguments.role.capitalize(),
        "email": arguments.email,
    }
    if arguments.password_stdin:
        given["password"] = read_password()

    async def use(local: Local) -> int:
        user = (await local.run("create_user", **given)).result
        if arguments.json:
            print_json(user)
        else:
            print_line(f"{user.username} is now {user.role} ({user.id})")
        return exits.OK

    return run_local(arguments, use, new=True)


def read_password() -> str:
    """The first line of stdin. Raises `UsageError` where there is none."""
    line = sys.stdin.buffer.readline(4096)
    try:
        password = line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError("the password on stdin is not UTF-8") from None
    if not password:
        raise UsageError("there is no password on stdin")
    return password
