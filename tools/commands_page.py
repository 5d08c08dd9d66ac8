"""docs/reference/commands.md: every command, from the very parsers that read command lines."""

from __future__ import annotations

import argparse
from pathlib import Path

from accord.cli.commands import SECTIONS, command_parser
from accord.cli.exits import MEANINGS
from tools.schema_words import table

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"

OPENING = """\
# Commands

<!-- Generated from accord/cli by `make docs`. -->

Every command of `accord`, its arguments and its options. `accord COMMAND --help` says the same;
what they are like in use is told in [The command line](../cli.md).

Each has two options more: `--help`, and `--debug`, which shows log messages and the traceback of an
error.

## Exit codes

Of every command, for scripts.

"""

OF_ALL = {"--help", "--debug"}
"""Options that are told of once."""


def render() -> str:
    """The whole page."""
    return (
        OPENING
        + table(("code", "when"), [(str(code), each) for code, each in MEANINGS.items()])
        + "".join(
            f"## {section.capitalize()}\n\n" + "".join(map(_command, names))
            for section, names in SECTIONS.items()
        )
    ).rstrip() + "\n"


def _command(name: str) -> str:
    parser, _ = command_parser(name)
    return (
        f"### accord {name}\n\n```text\n{_usage(parser)}\n```\n\n"
        + _described(parser.description or "")
        + table(("argument or option", "what it is"), _arguments(parser))
    )


def _usage(parser: argparse.ArgumentParser) -> str:
    return "\n".join(line.strip() for line in (parser.usage or "").splitlines())


def _described(description: str) -> str:
    """Sentences as they are; examples and other drawn parts as they are drawn."""
    parts = []
    for part in description.strip().split("\n\n"):
        drawn = any(line.startswith(" ") for line in part.splitlines())
        parts.append(f"```text\n{part}\n```" if drawn else part)
    return "\n\n".join(parts) + "\n\n"


def _arguments(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    return [
        (_name(action), (action.help or "") % _values(action))
        for action in parser._actions
        if action.help is not argparse.SUPPRESS and not OF_ALL.intersection(action.option_strings)
    ]


def _values(action: argparse.Action) -> dict[str, object]:
    return {"default": action.default, "prog": "accord", "choices": action.choices}


def _name(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else _metavar(action)
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{each} {value}`".replace(" `", "`") for each in action.option_strings)


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return action.dest.upper()
