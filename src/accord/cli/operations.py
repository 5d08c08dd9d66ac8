"""`accord user` and `accord token`: people and their tokens."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.installation import add_local_flags, all_pages, run_local
from accord.cli.output import print_json, print_line, print_table
from accord.cli.parser import Command, Parser
from accord.operations.rights import SCOPES

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.operations.accounts.entities import Token, User


# accord user create


USER_CREATE_USAGE: Final = "accord user create NAME --role ROLE [options]"

USER_CREATE_DESCRIPTION: Final = """\
Add a person. Without a password they cannot sign in, but programs can act for them with a token
(accord token create). It works while the server runs, and needs no password: whoever can read the
data directory may do it.

examples:
  accord user create ada --role administrator --data /var/lib/accord
  pass show accord/ada | accord user create ada --role user --password-stdin
"""

ROLES: Final = ("administrator", "user", "commenter")


def _configure_user_create(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="what they are called")
    add("--role", choices=ROLES, help="what they may do")
    add("--email", metavar="ADDRESS", default="", help="how they are reached")
    add("--password-stdin", action="store_true", help="read their password from stdin")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_user_create(arguments: argparse.Namespace) -> int:
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


# accord user list


USER_LIST_USAGE: Final = "accord user list [--json] [options]"

USER_LIST_DESCRIPTION: Final = """\
List all people, those who were deactivated too.

example:
  accord user list --data /var/lib/accord
"""


def _configure_user_list(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_user_list(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        users: list[User] = await all_pages(local, "list_users")
        if arguments.json:
            print_json(users)
        else:
            print_table(
                ("name", "role", "email", "active"),
                [(each.username, each.role, each.email, _yes_or_no(each.active)) for each in users],
            )
        return exits.OK

    return run_local(arguments, use)


def _yes_or_no(active: bool) -> str:
    return "yes" if active else "no"


# accord user update


USER_UPDATE_USAGE: Final = "accord user update NAME [--role ROLE] [--email ADDRESS] [options]"

USER_UPDATE_DESCRIPTION: Final = """\
Change a person's role, email or password, or deactivate them: from then on they are not let in,
nor are their tokens. Nobody is ever deleted, since what they did keeps its author.

examples:
  accord user update ada --role user
  accord user update ada --deactivate
  pass show accord/ada | accord user update ada --password-stdin
"""


def _configure_user_update(parser: Parser) -> None:
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


def _run_user_update(arguments: argparse.Namespace) -> int:
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
            _print_updated(user, password=password is not None, changes=bool(changes))
        return exits.OK

    return run_local(arguments, use)


def _print_updated(user: User, *, password: bool, changes: bool) -> None:
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


# accord token create


TOKEN_CREATE_USAGE: Final = "accord token create --user NAME --name LABEL [options]"

TOKEN_CREATE_DESCRIPTION: Final = """\
Make a token by which a program acts for a person, and print it alone on stdout. It is shown this
once. Without --scope it may do all that its owner's role allows, but for approving.

examples:
  accord token create --user ada --name laptop
  TOKEN=$(accord token create --user ada --name ci --scope read --scope comment --expires 30d)
"""

_DAYS: Final = re.compile(r"([0-9]{1,4})d?")


def _configure_token_create(parser: Parser) -> None:
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


def _run_token_create(arguments: argparse.Namespace) -> int:
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


# accord token list


TOKEN_LIST_USAGE: Final = "accord token list --user NAME [--json] [options]"

TOKEN_LIST_DESCRIPTION: Final = """\
List the tokens of a person: how each begins and ends, what it may do, and until when.

example:
  accord token list --user ada
"""


def _configure_token_list(parser: Parser) -> None:
    parser.add_argument("--user", metavar="NAME", help="whose tokens")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_token_list(arguments: argparse.Namespace) -> int:
    if arguments.user is None:
        raise UsageError("--user is needed")

    async def use(local: Local) -> int:
        tokens = await all_pages(local, "list_tokens", user=arguments.user)
        if arguments.json:
            print_json(tokens)
        else:
            print_table(
                ("name", "token", "scopes", "until", "last used", "revoked"),
                [_token_row(each) for each in tokens],
            )
        return exits.OK

    return run_local(arguments, use)


def _token_row(token: Token) -> tuple[str, ...]:
    return (
        token.name,
        f"{token.prefix}…{token.last_four}",
        " ".join(token.scopes),
        token.expires_at[:10],
        (token.last_used_at or "never")[:10],
        (token.revoked_at or "no")[:10],
    )


# accord token revoke


TOKEN_REVOKE_USAGE: Final = "accord token revoke LABEL --user NAME [options]"

TOKEN_REVOKE_DESCRIPTION: Final = """\
Have a token refused from now on, also by a server that runs.

example:
  accord token revoke laptop --user ada
"""


def _configure_token_revoke(parser: Parser) -> None:
    parser.add_argument("label", metavar="LABEL", nargs="?", help="the token's name, or its id")
    parser.add_argument("--user", metavar="NAME", help="whose token it is")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_token_revoke(arguments: argparse.Namespace) -> int:
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


COMMANDS: Final = {
    "user create": Command(
        USER_CREATE_USAGE, USER_CREATE_DESCRIPTION, _configure_user_create, _run_user_create
    ),
    "user list": Command(
        USER_LIST_USAGE, USER_LIST_DESCRIPTION, _configure_user_list, _run_user_list
    ),
    "user update": Command(
        USER_UPDATE_USAGE, USER_UPDATE_DESCRIPTION, _configure_user_update, _run_user_update
    ),
    "token create": Command(
        TOKEN_CREATE_USAGE, TOKEN_CREATE_DESCRIPTION, _configure_token_create, _run_token_create
    ),
    "token list": Command(
        TOKEN_LIST_USAGE, TOKEN_LIST_DESCRIPTION, _configure_token_list, _run_token_list
    ),
    "token revoke": Command(
        TOKEN_REVOKE_USAGE, TOKEN_REVOKE_DESCRIPTION, _configure_token_revoke, _run_token_revoke
    ),
}
