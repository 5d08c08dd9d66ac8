"""`accord user update`: changes a person's role, email or password, or deactivates them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.user_create import ROLES, read_password

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.operations.accounts.entities import User

USAGE: Final = "accord user update NAME [--role ROLE] [--email ADDRESS] [options]"

DESCRIPTION: Final = """\
Change a person's role, email or password, or deactivate them: from then on they are not let in,
nor are their tokens. Nobody is ever deleted, since what they did keeps its author.

examples:
  accord user update ada --role user
  accord user update ada --deactivate
  pass show accord/ada | accord user update ada --password-stdin
"""


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="who it is")
    add("--role", choices=ROLES, help="what they may do")
    add("--email", metavar="ADDRESS", help="how they are reached; '' for not at all")
    add("--password-stdin", action="store_true", help="read their new password from stdin")
    active = parser.add_mutually_exclusive_group()
    active.add_argument("--activate", action="store_true", help="let them in again")
    active.add_argument("--deactivate", action="store_true", help="let them in no longer")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        raise UsageError("a NAME is missing")
    changes = _changes(arguments)
    if not changes and not arguments.password_stdin:
        raise UsageError("say what to change: --role, --email, --password-stdin or --deactivate")
    password = read_password() if arguments.password_stdin else None

    async def use(local: Local) -> int:
        if password is not None:
            await local.run("set_password", id=arguments.name, password=password)
        if changes:
            await local.run("update_user", id=arguments.name, **changes)
        user = (await local.run("get_user", id=arguments.name)).result
        if arguments.json:
            print_json(user)
        else:
            _tell(user, password=password is not None, changes=bool(changes))
        return exits.OK

    return run_local(arguments, use)


def _tell(user: User, *, password: bool, changes: bool) -> None:
    if password:
        print_line(f"{user.username} has another password")
    if changes:
        active = "" if user.active else ", not active"
        print_line(f"{user.username} is now {user.role}{active}")


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if arguments.role is not None:
        changes["role"] = arguments.role.capitalize()
    if arguments.email is not None:
        changes["email"] = arguments.email
    if arguments.activate or arguments.deactivate:
        changes["active"] = arguments.activate
    return changes
