"""The command line as argparse trees: one for `accord`, one for each command.

Only the tree of the command that runs is built: no command pays for the imports of another.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from accord.cli.commands import COMMANDS, MODULES, SECTIONS, in_group
from accord.cli.exits import MEANINGS, UsageError

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
    """A parser that raises `UsageError` with a message of one line."""

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
        """Add an argument. Choices match without regard to letter case, as in operations."""
        choices = options.get("choices")
        if choices is not None and "type" not in options:
            options["type"] = lambda word: _chosen(word, tuple(choices))
        return super().add_argument(*names, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, advice=self._meant(message))

    def _meant(self, message: str) -> str | None:
        """Return advice for an unknown flag: the closest known flag."""
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


def _chosen(word: str, choices: tuple[str, ...]) -> str:
    from accord.operations.choices import equivalent

    return word if word in choices else equivalent(word, choices) or word


def top_parser() -> Parser:
    """Return the parser of `accord` itself, used only where no command is named."""
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
    """Return the parser of the first word of a group, used where no second word is named."""
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
