"""The command line as argparse trees: one for `accord`, one for each command.

Only the tree of the command that runs is built, so that none pays for another's imports.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Final, NoReturn

from accord.cli.exits import MEANINGS, UsageError

COMMANDS: Final = {
    "call": "call a method, anywhere",
    "serve": "run the whole system",
    "demo": "serve a few methods to try things out with",
    "openrpc lint": "find what is wrong with an OpenRPC document",
    "openrpc document": "print the OpenRPC document of a program",
    "openrpc client": "write a typed client from an OpenRPC document",
    "mcp run": "serve the MCP server that a Python file holds",
    "mcp list": "list what an MCP server offers",
    "mcp call": "call a tool of an MCP server",
    "mcp read": "read a resource of an MCP server",
    "mcp prompt": "get a prompt of an MCP server",
    "mcp inspect": "show who an MCP server is and what it can do",
    "mcp install": "tell a client, such as an editor, of an MCP server",
    "config": "show every setting, and where it was given",
    "db migrate": "bring a database up to this release",
    "db status": "show which migrations a database has",
    "audit verify": "find what was changed in the audit trail",
    "audit export": "write all of the audit trail",
    "user create": "add a person to an installation",
    "user list": "list the people of an installation",
    "user update": "change a person's role, email or password, or deactivate them",
    "token create": "make a token for a person, and print it",
    "token list": "list the tokens of a person",
    "token revoke": "have a token refused from now on",
    "hub do": "run any operation of the hub",
    "hub demo": "load a sample project into the hub",
    "hub export": "write what is in the hub to a file",
    "hub import": "bring a file into the hub",
    "hub reindex": "write the search index of the hub anew",
    "executor": "execute runs of workflows, as a process of its own",
    "bridge": "call agents for workflows, as a process of its own",
    "workflow validate": "find what is wrong with a workflow's definition",
    "workflow save": "save a workflow's definition",
    "workflow list": "list workflows, or their runs",
    "workflow run": "start a run of a workflow",
    "workflow watch": "show what happens in a run",
    "workflow cancel": "cancel a run",
    "workflow retry": "let a run go on that failed",
    "agent add": "register an agent for workflows",
    "agent list": "list the agents that are registered",
    "agent check": "find what is wrong with an agent",
    "agent demo": "serve an agent to try things out with",
    "agents migration": "list the agents that still use the older plain format",
    "workflow archive": "move runs that ended long ago to files, or remove them",
    "completion": "print a completion script for your shell",
}
"""Each command is a module of `accord.cli` with `configure(parser)` and `run(arguments)`; one of
two words, as `openrpc lint`, is the module `openrpc_lint`."""

GROUPS: Final = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))
"""The first words of commands that have two."""

_DESCRIPTION = """\
Accord speaks JSON-RPC 2.0 over stdio, TCP, TLS, Unix sockets, WebSocket and HTTP.
This command calls methods, and serves some to try it out.

examples:
  accord demo tcp://127.0.0.1:7000                   serve, in one terminal
  accord call tcp://127.0.0.1:7000 add 1 2           call, in another
  accord call http://127.0.0.1:8000/rpc add a=1 b=2  params by name
  accord call 'stdio:accord demo stdio:' echo hi     start a program and call it
"""

Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def __init__(self, prog: str, **options: str) -> None:
        super().__init__(
            prog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            **options,  # type: ignore[arg-type]  # usage, description and epilog are strings
        )
        self.add_argument("-h", "--help", action="help", help="show this help and exit")

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def find_command(arguments: Sequence[str]) -> str | None:
    """The command that the arguments begin with; None if they begin with none."""
    return next(
        (name for name in COMMANDS if [*arguments[: name.count(" ") + 1]] == name.split()), None
    )


def top_parser() -> Parser:
    """The parser of `accord` itself; it is asked only when no command is named."""
    commands = _listed(COMMANDS)
    parser = Parser(
        "accord",
        usage="accord [-h] [--version] COMMAND …",
        description=_DESCRIPTION,
        epilog=f"commands (accord COMMAND --help tells more):\n{commands}\n\n{_exit_codes()}",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def group_parser(group: str) -> Parser:
    """The parser of the first word of several commands, where no second one is named."""
    parser = Parser(
        f"accord {group}",
        usage=f"accord {group} COMMAND …",
        epilog=f"commands (each has a --help of its own):\n{_listed(in_group(group))}",
    )
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def in_group(group: str) -> list[str]:
    """The commands that begin with the word `group`."""
    return [name for name in COMMANDS if name.startswith(f"{group} ")]


def command_parser(name: str) -> tuple[Parser, Run]:
    """The parser of one command, and the function that runs it."""
    module = import_module(f"accord.cli.{name.replace(' ', '_')}")
    parser = Parser(
        f"accord {name}",
        usage=module.USAGE,
        description=module.DESCRIPTION,
        epilog=_exit_codes(),
    )
    module.configure(parser)
    parser.add_argument(
        "--debug", action="store_true", help="show log messages, and the traceback of an error"
    )
    return parser, module.run


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f"  {name:<17} {COMMANDS[name]}" for name in names)


def _exit_codes() -> str:
    codes = "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())
    return f"exit codes:\n{codes}"
