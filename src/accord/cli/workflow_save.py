"""`accord workflow save`: saves a definition, as a new version of its workflow."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line, printable
from accord.cli.parser import Parser
from accord.cli.run_progress import call
from accord.cli.workflow_validate import read_definition_file

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord workflow save FILE [options]"

DESCRIPTION: Final = """\
Save the definition of a workflow, in YAML or JSON, as its next version. The same definition again
makes no new version. What is wrong with it is told, each problem with its place.

example:
  accord workflow save review.yaml
"""


def configure(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a definition; - is stdin")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.file is None:
        raise UsageError("a FILE is needed")
    try:
        text = read_definition_file(arguments.file).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{arguments.file} is not UTF-8") from None

    async def use(local: Local) -> int:
        from accord.workflows.operations.saving import DefinitionRefusedError

        caller = await caller_named(local, arguments.person)
        try:
            saved = await call(local, caller, "create_workflow", definition=text)
        except DefinitionRefusedError as error:
            if arguments.json:
                raise
            for each in error.data["problems"]:
                hint = f" ({each['hint']})" if each["hint"] else ""
                print_line(printable(f"{each['path']}: {each['message']}{hint}"))
            return exits.ANSWERED_WITH_ERROR
        if arguments.json:
            print_json(saved)
        else:
            print_line(f"{saved.id} is saved")
        return exits.OK

    return run_local(arguments, use)
