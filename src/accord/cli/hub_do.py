"""`accord hub do`: every operation of the system as a command, on the machine itself."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import pretty, print_line
from accord.cli.params import read_params
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.operations.operation import Operation
    from accord.operations.registry import Registry

USAGE: Final = "accord hub do [OPERATION [NAME=VALUE …]] [options]"

DESCRIPTION: Final = """\
Run an operation: what REST, JSON-RPC and MCP offer, by the same names and with the same arguments,
on the machine itself and without a token. Without an operation, list them all; with --about, tell
what one does and takes. It works while the server runs, and is on record like everything else.

Values that are JSON are taken as such, all others are strings; `-` reads all arguments as one
JSON object from stdin. The result is JSON: indented for people, with --json in one line.

examples:
  accord hub do
  accord hub do create_epic --about
  accord hub do create_epic title='Booking a crossing' priority=1
  accord hub do list_requirements status=Active limit=5 --json
  accord hub do update_epic id=EP-001 status=Done dry_run=true --as maria
"""


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("operation", metavar="OPERATION", nargs="?", help="what to do")
    add("arguments", metavar="NAME=VALUE", nargs="*", help="with what")
    add("--about", action="store_true", help="tell what the operation does and takes")
    add("--json", action="store_true", help="the result in one line, for programs")
    add_as_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    from accord.app.composition import all_operations

    registry = all_operations()
    if arguments.operation is None:
        for operation in registry:
            print_line(f"{_signature(operation)}\n    {_first_sentence(operation)}")
        return exits.OK
    found = _found(registry, arguments.operation)
    if arguments.about:
        _tell(found)
        return exits.OK
    return run_local(arguments, lambda local: _do(local, found.name, arguments))


async def _do(local: Local, name: str, arguments: argparse.Namespace) -> int:
    from accord.operations.arguments import decode

    operation = local.runner.registry[name]
    given = read_params(arguments.arguments, sys.stdin.buffer.read)
    body = b"{}" if given is UNSET else bytes(given)
    caller = await caller_named(local, arguments.person)
    outcome = await local.runner.run(operation, lambda: decode(operation, body), caller)
    result = msgspec.json.encode(outcome.result)
    print_line(result if arguments.json else pretty(result, sys.stdout))
    return exits.OK


def _found(registry: Registry, name: str) -> Operation:
    """Raises `UsageError`, which names what is meant."""
    operation = registry.get(name) or registry.get(name.replace("-", "_"))
    if operation is not None:
        return operation
    from difflib import get_close_matches

    close = get_close_matches(name, [each.name for each in registry])
    hint = f": did you mean {' or '.join(close)}?" if close else "; accord hub do lists them all"
    raise UsageError(f"there is no operation {name!r}{hint}")


def _signature(operation: Operation) -> str:
    words = (each.name if each.required else f"[{each.name}]" for each in operation.parameters)
    return f"{operation.name}({', '.join(words)})"


def _first_sentence(operation: Operation) -> str:
    return " ".join(operation.description.split("\n\n")[0].split())


def _tell(operation: Operation) -> None:
    from accord.schema.types import accepts

    print_line(f"{_signature(operation)}\n\n{operation.description}\n")
    print_line(f"needs the right {operation.right}")
    for rest in operation.rest:
        print_line(f"{rest.verb} /api/v1{rest.path}")
    for each in operation.parameters:
        schema = msgspec.json.encode(accepts(each.annotation).value).decode()
        print_line(f"  {each.name}{'' if each.required else ' (optional)'}: {schema}")
