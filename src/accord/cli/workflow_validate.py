"""`accord workflow validate`: everything that is wrong with a definition."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.installation import is_there
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import paint, print_json, print_line, printable
from accord.cli.parser import Parser
from accord.cli.setting_flags import settings_from

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.workflows.core.errors import Problem
    from accord.workflows.core.rules import Known

USAGE: Final = "accord workflow validate FILE [--json] [options]"

DESCRIPTION: Final = """\
Find everything that is wrong with the definition of a workflow, in YAML or JSON, each with its
place. Agents, operations and workflows that it names must be there in the installation; where there
is no installation, only operations are looked for.

example:
  accord workflow validate review.yaml
"""


def configure(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a definition; - is stdin")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.file is None:
        raise UsageError("a FILE is needed")
    text = read_definition_file(arguments.file)
    settings = settings_from(arguments).settings
    if not is_there(settings):
        return _tell(
            text,
            _known_without(settings.plugins),
            arguments,
            "agents and workflows were not looked for",
        )

    async def use(local: Local) -> int:
        return _tell(text, await _known(local), arguments)

    return run_local(arguments, use)


def read_definition_file(name: str) -> bytes:
    """Raises `UsageError`."""
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None


def _tell(text: bytes, known: Known, arguments: argparse.Namespace, note: str = "") -> int:
    problems = _problems(text, known)
    if arguments.json:
        print_json({"valid": not problems, "problems": problems})
    for each in () if arguments.json else problems:
        print_line(f"{paint(printable(each.path), 'key', sys.stdout)}: {_sentence(each)}")
    if not arguments.json:
        print_line(_summary(problems, arguments.file, note))
    return exits.ANSWERED_WITH_ERROR if problems else exits.OK


def _problems(text: bytes, known: Known) -> list[Problem]:
    from accord.workflows.core.errors import DefinitionError
    from accord.workflows.core.reading import read_text

    try:
        read_text(text, "yaml", known)
    except DefinitionError as error:
        return list(error.problems)
    return []


def _sentence(problem: Problem) -> str:
    return printable(f"{problem.message} ({problem.hint})" if problem.hint else problem.message)


def _summary(problems: list[Problem], file: str, note: str) -> str:
    count = len(problems)
    if count:
        return "1 problem" if count == 1 else f"{count} problems"
    return f"{file} is valid" + (f"; {note}" if note else "")


async def _known(local: Local) -> Known:
    from accord.workflows.operations.saving import known_things

    return await local.store.read(
        lambda db: known_things(db, local.runner.registry, local.events.kinds, local.plugins.steps)
    )


def _known_without(allowed: list[str]) -> Known:
    from accord.app.composition import EVENT_KINDS, all_operations
    from accord.app.plugins import load_plugins
    from accord.workflows.core.rules import Known
    from accord.workflows.operations.saving import callable_operations

    plugins = load_plugins(allowed)
    return Known(
        operations=callable_operations(all_operations(further=plugins.operations)),
        kinds=EVENT_KINDS,
        steps=plugins.steps.taken,
    )
