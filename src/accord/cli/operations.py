"""Commands generated from operations: each runs one operation and prints its result.

An entry of `OPERATIONS` defines a command: the operation, the arguments and flags, the parameter
that each of them sets, and how the result is printed. With --json, the result is printed as JSON.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from msgspec import Struct

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import seconds
from accord.cli.installation import (
    add_as_flag,
    add_local_flags,
    all_pages,
    caller_named,
    run_as,
    run_local,
)
from accord.cli.output import print_json, print_line, print_table, printable
from accord.operations.context import SCOPES

if TYPE_CHECKING:
    from accord.app.runtime import Runtime
    from accord.operations.auth.users import User
    from accord.operations.operation import Outcome

Cell: TypeAlias = str | Callable[[Any], str]
"""The source of a column's text: the name of an item's attribute, or a function of the item."""


class Argument(NamedTuple):
    """An argument or flag of a command, and the parameter of the operation that it sets."""

    parameter: str
    """The name of the parameter; empty if `more_arguments` reads the argument instead."""
    names: tuple[str, ...]
    options: Mapping[str, Any]
    """Keyword arguments of `add_argument`."""
    is_needed: bool
    convert: Callable[[Any], Any]

    @property
    def destination(self) -> str:
        """The attribute of the parsed command line that contains the value."""
        return self.names[0].lstrip("-").replace("-", "_")


def _argument(
    parameter: str,
    *names: str,
    needed: bool = False,
    convert: Callable[[Any], Any] = lambda value: value,
    **options: Any,
) -> Argument:
    """Return an `Argument` with `options` for argparse.

    A positional argument is optional for argparse: if a needed one is missing, the error message is
    `OperationCommand.needs` instead of the message of argparse.
    """
    if not names[0].startswith("-"):
        options["nargs"] = "?"
    return Argument(parameter, names, options, needed, convert)


class OperationCommand(Struct, frozen=True, kw_only=True):
    """A command that runs one operation."""

    operation: str
    usage: str
    description: str
    arguments: tuple[Argument, ...] = ()
    needs: str = ""
    """The error message if a required argument is missing."""
    more_arguments: Callable[[argparse.Namespace], dict[str, Any]] = lambda _: {}
    """A function that returns the parameters of the operation that depend on several flags. It
    raises `UsageError` if the flags contradict each other."""
    columns: Mapping[str, Cell] | None = None
    """The columns of a list, by heading; all pages of the list are fetched. None if the result is
    no list."""
    line: Callable[[Any, Mapping[str, Any]], str] = lambda *_: ""
    """Returns the output for people, from the result and the arguments; not used for lists."""
    json_by: str = ""
    """The name of an operation that takes the id of a workflow run. If given, `--json` prints the
    result of this operation for the run that the command changed."""
    settings: tuple[str, ...] = ()
    """Settings that the command has as flags, besides those that locate the installation."""
    is_new: bool = False
    """True if the command creates a missing installation."""
    has_person: bool = False
    """True if the command has the flag `--as`, which names the user that the operation runs as."""


def _command(spec: OperationCommand) -> Command:
    return Command(spec.usage, spec.description, partial(_configure, spec), partial(_run, spec))


def _configure(spec: OperationCommand, parser: Parser) -> None:
    for each in spec.arguments:
        parser.add_argument(*each.names, **each.options)
    parser.add_argument("--json", action="store_true", help="for programs")
    if spec.has_person:
        add_as_flag(parser)
    add_local_flags(parser, *spec.settings)


def _run(spec: OperationCommand, arguments: argparse.Namespace) -> int:
    values = _operation_arguments(spec, arguments)

    async def use(local: Runtime) -> int:
        if spec.columns is not None:
            _print_list(spec.columns, await all_pages(local, spec.operation, **values), arguments)
            return exits.OK
        if not spec.has_person:
            _print_outcome(spec, await local.run(spec.operation, **values), values, arguments)
            return exits.OK
        caller = await caller_named(local, arguments.person)
        outcome = await run_as(local, caller, spec.operation, **values)
        if arguments.json and spec.json_by:
            outcome = await run_as(local, caller, spec.json_by, id=values["run"])
        _print_outcome(spec, outcome, values, arguments)
        return exits.OK

    return run_local(arguments, use, new=spec.is_new)


def _operation_arguments(spec: OperationCommand, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of the operation.

    Raises `UsageError` if a required argument is missing.
    """
    values = [(each, getattr(arguments, each.destination)) for each in spec.arguments]
    if any(each.is_needed and value is None for each, value in values):
        raise UsageError(spec.needs)
    parameters = {
        each.parameter: each.convert(value)
        for each, value in values
        if each.parameter and value is not None and value is not False
    }
    return parameters | spec.more_arguments(arguments)


def _print_list(
    columns: Mapping[str, Cell], items: list[Any], arguments: argparse.Namespace
) -> None:
    if arguments.json:
        print_json(items)
    else:
        rows = [[_text(item, cell) for cell in columns.values()] for item in items]
        print_table(tuple(columns), rows)


def _text(item: Any, cell: Cell) -> str:
    if not isinstance(cell, str):
        return cell(item)
    value = getattr(item, cell)
    return _YES_OR_NO[value] if isinstance(value, bool) else str(value)


_YES_OR_NO: Final = {True: "yes", False: "no"}


def _print_outcome(
    spec: OperationCommand,
    outcome: Outcome,
    given: Mapping[str, Any],
    arguments: argparse.Namespace,
) -> None:
    if arguments.json:
        print_json(outcome.result)
        return
    print_line(spec.line(outcome.result, given))
    for hint in outcome.hints:
        print_line(f"note: {printable(hint.message)}")


# Values


_DAYS: Final = re.compile(r"([0-9]{1,4})d?")


def _days(text: str) -> int:
    match = _DAYS.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a number of days such as 30d, not {text!r}")
    return int(match[1])


def _read_password(_: object = None) -> str:
    """Return a password, the first line of stdin.

    Raises `UsageError` if the line is empty or not UTF-8.
    """
    line = sys.stdin.buffer.readline(4096)
    try:
        password = line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError("the password on stdin is not UTF-8") from None
    if not password:
        raise UsageError("there is no password on stdin")
    return password


def _agent_auth(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameter `auth` of an agent: how calls to the agent authenticate.

    Raises `UsageError` if both --bearer and --api-key are given.
    """
    if arguments.bearer and arguments.api_key:
        raise UsageError("either --bearer or --api-key")
    if arguments.bearer:
        return {"auth": {"type": "bearer", "secret": arguments.bearer}}
    if arguments.api_key:
        header = {"header": arguments.header} if arguments.header else {}
        return {"auth": {"type": "api_key", "secret": arguments.api_key, **header}}
    return {"auth": {"type": "none"}}


# The table


ROLES: Final = ("administrator", "user", "commenter")
WIRES: Final = ("auto", "a2a-0.3", "a2a-1.0", "plain")
_RUN: Final = _argument("run", "run", needed=True, metavar="RUN", help="the id of a run")

OPERATIONS: Final = {
    "user create": OperationCommand(
        operation="create_user",
        usage="accord user create NAME --role ROLE [options]",
        description="""\
Add a person. Without a password they cannot sign in, but programs can act for them with a token
(accord token create). It works while the server runs, and needs no password: whoever can read the
data directory may do it.

examples:
  accord user create ada --role administrator --data /var/lib/accord
  pass show accord/ada | accord user create ada --role user --password-stdin
""",
        needs="a NAME and a --role are needed",
        arguments=(
            _argument("username", "name", needed=True, metavar="NAME", help="what they are called"),
            _argument(
                *("role", "--role"),
                needed=True,
                convert=str.capitalize,
                choices=ROLES,
                help="what they may do",
            ),
            _argument(
                "email", "--email", metavar="ADDRESS", default="", help="how they are reached"
            ),
            _argument(
                *("password", "--password-stdin"),
                convert=_read_password,
                action="store_true",
                help="read their password from stdin",
            ),
        ),
        line=lambda user, _: f"{user.username} is now {user.role} ({user.id})",
        is_new=True,
    ),
    "user list": OperationCommand(
        operation="list_users",
        usage="accord user list [--json] [options]",
        description="""\
List all people, those who were deactivated too.

example:
  accord user list --data /var/lib/accord
""",
        columns={"name": "username", "role": "role", "email": "email", "active": "active"},
    ),
    "token create": OperationCommand(
        operation="create_token",
        usage="accord token create --user NAME --name LABEL [options]",
        description="""\
Make a token by which a program acts for a person, and print it alone on stdout. It is shown this
once. Without --scope it may do all that its owner's role allows, but for approving.

examples:
  accord token create --user ada --name laptop
  TOKEN=$(accord token create --user ada --name ci --scope read --scope comment --expires 30d)
""",
        needs="--user and --name are needed",
        arguments=(
            _argument("user", "--user", needed=True, metavar="NAME", help="whose token it is"),
            _argument(
                *("name", "--name"),
                needed=True,
                metavar="LABEL",
                help="what it is called, unique among theirs",
            ),
            _argument(
                *("scopes", "--scope"),
                metavar="SCOPE",
                action="append",
                choices=SCOPES,
                help=f"what it may do, one of {', '.join(SCOPES)}; can be repeated",
            ),
            _argument(
                *("expires_in", "--expires"),
                metavar="DAYS",
                type=_days,
                help="after how long, such as 30d (default: 90d)",
            ),
        ),
        line=lambda made, _: str(made.token),
    ),
    "token list": OperationCommand(
        operation="list_tokens",
        usage="accord token list --user NAME [--json] [options]",
        description="""\
List the tokens of a person: how each begins and ends, what it may do, and until when.

example:
  accord token list --user ada
""",
        needs="--user is needed",
        arguments=(_argument("user", "--user", needed=True, metavar="NAME", help="whose tokens"),),
        columns={
            "name": "name",
            "token": lambda token: f"{token.prefix}…{token.last_four}",
            "scopes": lambda token: " ".join(token.scopes),
            "until": lambda token: token.expires_at[:10],
            "last used": lambda token: (token.last_used_at or "never")[:10],
            "revoked": lambda token: (token.revoked_at or "no")[:10],
        },
    ),
    "token revoke": OperationCommand(
        operation="revoke_token",
        usage="accord token revoke LABEL --user NAME [options]",
        description="""\
Have a token refused from now on, also by a server that runs.

example:
  accord token revoke laptop --user ada
""",
        needs="a LABEL and --user are needed",
        arguments=(
            _argument(
                "id", "label", needed=True, metavar="LABEL", help="the token's name, or its id"
            ),
            _argument("user", "--user", needed=True, metavar="NAME", help="whose token it is"),
        ),
        line=lambda token, _: f"{token.user}'s token {token.name} is revoked",
    ),
    "agent add": OperationCommand(
        operation="create_agent",
        usage="accord agent add NAME URL [options]",
        description="""\
Register an agent by a name that workflows call it by. Its format is read from its card, unless
--wire names one.

Agents on this machine or in private networks have to be allowed, here and where they are called:
by --allow-agents, or all of them by --allow-private-agents (see accord config). Secrets are never
given here: --bearer and --api-key say where one is found, env:ACCORD_SECRET_NAME or file:NAME in
the folder that the setting `secrets` names.

examples:
  accord agent add reviewer https://agents.example.com/review --bearer env:ACCORD_SECRET_REVIEWER
  accord agent add demo http://127.0.0.1:9000/ --allow-agents 127.0.0.1
""",
        needs="a NAME and a URL are needed",
        arguments=(
            _argument("name", "name", needed=True, metavar="NAME", help="what workflows call it"),
            _argument("url", "url", needed=True, metavar="URL", help="where it is"),
            _argument(
                "wire",
                "--wire",
                choices=WIRES,
                default="auto",
                help="how it is asked (default: auto)",
            ),
            _argument(
                "", "--bearer", metavar="SECRET", help="where the token is found that it is shown"
            ),
            _argument(
                "", "--api-key", metavar="SECRET", help="where the key is found that it is shown"
            ),
            _argument(
                "", "--header", metavar="NAME", help="the header of the key (default: X-API-Key)"
            ),
            _argument(
                *("timeout", "--timeout"),
                metavar="SECONDS",
                type=seconds,
                help="of one request (default: 30)",
            ),
            _argument(
                "description", "--description", metavar="TEXT", default="", help="what it does"
            ),
        ),
        more_arguments=_agent_auth,
        line=lambda agent, _: f"{agent.name} is at {printable(agent.url)}",
        settings=("allow_agents", "allow_private_agents"),
        is_new=True,
    ),
    "agent list": OperationCommand(
        operation="list_agents",
        usage="accord agent list [--json] [options]",
        description="""\
List the agents that are registered: where each is, how it is asked, and whether it answered when
it was asked for its card last.

example:
  accord agent list
""",
        columns={each: each for each in ("name", "url", "wire", "active", "health")},
    ),
    "workflow cancel": OperationCommand(
        operation="cancel_run",
        usage="accord workflow cancel RUN [--reason TEXT] [options]",
        description="""\
Cancel a run. Agents that work for it are told.

example:
  accord workflow cancel 01a1e0a9-449f-773a-b820-387bc39619bb --reason 'not needed any more'
""",
        needs="a RUN is needed: the id of one",
        arguments=(
            _RUN,
            _argument("reason", "--reason", metavar="TEXT", default="", help="why"),
        ),
        line=lambda _, given: f"{given['run']} is to be cancelled",
        json_by="get_run",
        has_person=True,
    ),
    "workflow retry": OperationCommand(
        operation="retry_run",
        usage="accord workflow retry RUN [--step KEY] [options]",
        description="""\
Continue a run that failed or was cancelled. What did not complete starts again, what completed
stays as it is. With --step, that step and everything after it runs again.

examples:
  accord workflow retry 01a1e0a9-449f-773a-b820-387bc39619bb
  accord workflow retry 01a1e0a9-449f-773a-b820-387bc39619bb --step review
""",
        needs="a RUN is needed: the id of one",
        arguments=(
            _RUN,
            _argument("step", "--step", metavar="KEY", help="run this step and all after it again"),
        ),
        line=lambda _, given: f"{given['run']} goes on",
        json_by="get_run",
        has_person=True,
    ),
}
"""The commands that run one operation. A new command needs an entry here and a line in
`accord.cli.commands`."""


# accord user update, which runs several operations


UPDATE_USAGE: Final = "accord user update NAME [--role ROLE] [--email ADDRESS] [options]"

UPDATE_DESCRIPTION: Final = """\
Change a person's role, email or password, or deactivate them: from then on they are not let in,
nor are their tokens. Nobody is ever deleted, since what they did keeps its author.

examples:
  accord user update ada --role user
  accord user update ada --deactivate
  pass show accord/ada | accord user update ada --password-stdin
"""


def _configure_update(parser: Parser) -> None:
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


def _run_update(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        raise UsageError("a NAME is missing")
    changes = _changes(arguments)
    if not changes and not arguments.password_stdin:
        raise UsageError("say what to change: --role, --email, --password-stdin or --deactivate")
    password = _read_password() if arguments.password_stdin else None

    async def use(local: Runtime) -> int:
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


COMMANDS: Final = {
    **{name: _command(spec) for name, spec in OPERATIONS.items()},
    "user update": Command(UPDATE_USAGE, UPDATE_DESCRIPTION, _configure_update, _run_update),
}
