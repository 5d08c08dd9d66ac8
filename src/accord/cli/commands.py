"""The table of all commands, and their argparse parsers.

`accord`, each group of commands and each command have a parser of their own. Only the parser that
the command line needs is built, and only the module of its command is imported, so no command pays
for the imports of another. Each module defines its commands in a table `COMMANDS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from accord.cli.exits import MEANINGS, UsageError

_TABLE: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "run it": {
        "serve": ("serve", "run the whole system"),
        "executor": ("serve", "execute runs of workflows, as a process of its own"),
        "bridge": ("serve", "call agents for workflows, as a process of its own"),
    },
    "people and tokens": {
        "user create": ("operations", "add a person to an installation"),
        "user list": ("operations", "list the people of an installation"),
        "user update": (
            "operations",
            "change a person's role, email or password, or deactivate them",
        ),
        "token create": ("operations", "make a token for a person, and print it"),
        "token list": ("operations", "list the tokens of a person"),
        "token revoke": ("operations", "have a token refused from now on"),
    },
    "requirements": {
        "hub demo": ("hub", "load a sample project into the hub"),
        "hub import": ("hub", "bring a file into the hub"),
        "hub export": ("hub", "write what is in the hub to a file"),
        "hub do": ("hub", "run any operation of the hub"),
        "hub reindex": ("hub", "write the search index of the hub anew"),
    },
    "workflows and agents": {
        "agent demo": ("agent", "serve an agent to try things out with"),
        "agent check": ("agent", "find what is wrong with an agent"),
        "agent add": ("operations", "register an agent for workflows"),
        "agent list": ("operations", "list the agents that are registered"),
        "agent migration": ("agent", "list the agents that still use the older plain format"),
        "workflow validate": ("workflow", "find what is wrong with a workflow's definition"),
        "workflow save": ("workflow", "save a workflow's definition"),
        "workflow list": ("workflow", "list workflows, or their runs"),
        "workflow run": ("workflow", "start a run of a workflow"),
        "workflow watch": ("workflow", "show what happens in a run"),
        "workflow cancel": ("operations", "cancel a run"),
        "workflow retry": ("operations", "continue a run that failed or was cancelled"),
        "workflow archive": ("workflow", "move runs that ended long ago to files, or remove them"),
    },
    "keep it": {
        "doctor": ("doctor", "look at all that it needs, and say what to do"),
        "config": ("installation", "show every setting, and where it was given"),
        "plugin list": (
            "installation",
            "list what installed packages add, and whether it can be used",
        ),
        "backup": ("backup", "write all of an installation to one file, while it runs"),
        "restore": ("backup", "make an installation of a backup"),
        "db status": ("backup", "show which migrations a database has"),
        "db migrate": ("backup", "bring a database up to this release"),
        "audit verify": ("backup", "find what was changed in the audit trail"),
        "audit export": ("backup", "write all of the audit trail"),
    },
    "library": {
        "call": ("call", "call a method, anywhere"),
        "demo": ("demo", "serve a few methods to try things out with"),
        "openrpc lint": ("openrpc", "find what is wrong with an OpenRPC document"),
        "openrpc document": ("openrpc", "print the OpenRPC document of a program"),
        "openrpc client": ("openrpc", "write a typed client from an OpenRPC document"),
        "mcp run": ("mcp_server", "serve the MCP server that a Python file holds"),
        "mcp list": ("mcp_client", "list what an MCP server offers"),
        "mcp call": ("mcp_client", "call a tool of an MCP server"),
        "mcp read": ("mcp_client", "read a resource of an MCP server"),
        "mcp prompt": ("mcp_client", "get a prompt of an MCP server"),
        "mcp inspect": ("mcp_client", "show who an MCP server is and what it can do"),
        "mcp install": ("mcp_server", "tell a client, such as an editor, of an MCP server"),
    },
    "shell": {
        "completion": ("completion", "print a completion script for your shell"),
    },
}
"""The commands by heading of `accord --help`, in the order of use. Each command has its module and
a description."""

SECTIONS: Final = {
    title: {name: about for name, (_, about) in section.items()}
    for title, section in _TABLE.items()
}
COMMANDS: Final = {name: about for section in SECTIONS.values() for name, about in section.items()}
MODULES: Final = {name: module for each in _TABLE.values() for name, (module, _) in each.items()}
"""The module of `accord.cli` that implements each command."""
GROUPS: Final = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))
"""The first words of two-word commands."""

_FORMER: Final = {"agents migration": "agent migration"}
"""Renamed commands: the old name, which scripts may still use, and the current name."""
_NAMES_ELSEWHERE: Final = {
    **dict.fromkeys(("start", "run", "up", "init", "server", "web", "setup"), "serve"),
    **dict.fromkeys(("status", "check", "health", "diagnose"), "doctor"),
    **dict.fromkeys(("settings", "env"), "config"),
    **dict.fromkeys(("login", "auth"), "token create"),
    "help": "--help",
    "version": "--version",
}
"""Command names that are usual in other programs, and the `accord` command to suggest instead."""


def split_command(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the command at the start of the arguments, or None, and the other arguments."""
    for length in (1, 2):
        words = " ".join(arguments[:length])
        name = _FORMER.get(words, words)
        if len(arguments) >= length and name in COMMANDS:
            return name, list(arguments[length:])
    return None, list(arguments)


def in_group(group: str) -> list[str]:
    """Return the names of all commands that begin with the word `group`."""
    return [name for name in COMMANDS if name.startswith(f"{group} ")]


def similar_commands(words: Sequence[str]) -> list[str]:
    """Return the commands to suggest for words that name no command."""
    from difflib import get_close_matches

    first, typed = words[0], " ".join(words[:2])
    if first in _NAMES_ELSEWHERE:
        return [_NAMES_ELSEWHERE[first]]
    turned = " ".join(reversed(words[:2]))
    if turned in COMMANDS:
        return [turned]
    close = get_close_matches(typed, COMMANDS, n=2, cutoff=0.75)
    if close or first in GROUPS:
        return close
    named = [name for name in COMMANDS if name.split()[-1] == first]
    return named or get_close_matches(first, [*COMMANDS, *GROUPS], n=2, cutoff=0.7)


_DESCRIPTION = """\
Accord is how people, programs and AI agents agree on things: a hub for requirements and workflows
of agents, served by one command. It is also a library: JSON-RPC 2.0, OpenRPC and MCP for Python.

for product teams: requirements in a browser, and in your assistant
  accord serve                                       then open http://127.0.0.1:8000
  accord hub import requirements.csv --dry-run       bring what you have
for operators: workflows of agents
  accord agent add reviewer https://agents.example.com/review
  accord workflow save review.yaml
  accord workflow run review --input '{"text": "The ferry shall be fast."}' --wait
for engineers: methods in Python, called from anywhere
  accord demo tcp://127.0.0.1:7000                   serve, in one terminal
  accord call tcp://127.0.0.1:7000 add 1 2           call, in another
  accord mcp list server.py                          what an MCP server offers
"""

UNKNOWN: Final = "unrecognized arguments: "
"""The beginning of argparse's message about unknown flags."""

Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors raise `UsageError`, with a message of one line."""

    def __init__(self, prog: str, **options: str) -> None:
        super().__init__(
            prog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            **options,  # type: ignore[arg-type]  # usage, description and epilog are strings
        )
        self.add_argument("-h", "--help", action="help", help="show this help and exit")

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument or flag.

        Choices match without regard to letter case, spaces, underscores and hyphens, as in
        operations.
        """
        choices = options.get("choices")
        if choices is not None and "type" not in options:
            options["type"] = lambda word: _matching_choice(word, tuple(choices))
        return super().add_argument(*names, **options)

    @property
    def actions(self) -> Sequence[argparse.Action]:
        """All arguments and flags of the parser."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, advice=self._flag_advice(message))

    def _flag_advice(self, message: str) -> str | None:
        """Suggest the closest known flag if the error is about an unknown one."""
        from difflib import get_close_matches

        if not message.startswith(UNKNOWN):
            return None
        flag = message.removeprefix(UNKNOWN).split()[0].partition("=")[0]
        known = [name for name in self._option_string_actions if name.startswith("--")]
        close = get_close_matches(flag, known, n=1)
        return f"did you mean {close[0]}?" if close else None


class Command(NamedTuple):
    """A command: the texts of its help, its arguments, and the function that runs it."""

    usage: str
    description: str
    configure: Callable[[Parser], None]
    run: Run


def _matching_choice(word: str, choices: tuple[str, ...]) -> str:
    from accord.operations.choices import equivalent

    return word if word in choices else equivalent(word, choices) or word


def top_parser() -> Parser:
    """Return the parser of `accord` itself, for a command line without a command."""
    commands = "\n\n".join(f"{title}:\n{_listed(section)}" for title, section in SECTIONS.items())
    parser = Parser(
        "accord",
        usage="accord [-h] [--version] COMMAND …",
        description=_DESCRIPTION,
        epilog=f"{commands}\n\naccord COMMAND --help tells more of each.\n\n{_exit_codes()}",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def group_parser(group: str) -> Parser:
    """Return the parser for the first word of two-word commands, given without a second."""
    parser = Parser(
        f"accord {group}",
        usage=f"accord {group} COMMAND …",
        epilog=f"commands (each has a --help of its own):\n{_listed(in_group(group))}",
    )
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def command_parser(name: str) -> tuple[Parser, Run]:
    """Return the parser of one command, and the function that runs it."""
    command: Command = import_module(f"accord.cli.{MODULES[name]}").COMMANDS[name]
    parser = Parser(
        f"accord {name}",
        usage=command.usage,
        description=command.description,
        epilog=_exit_codes(),
    )
    command.configure(parser)
    parser.add_argument(
        "--debug", action="store_true", help="show log messages, and the traceback of an error"
    )
    return parser, command.run


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f"  {name:<17}  {COMMANDS[name]}" for name in names)


def _exit_codes() -> str:
    codes = "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())
    return f"exit codes:\n{codes}"
