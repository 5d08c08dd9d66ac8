"""`accord hub do`: every operation of the system as a command, on the machine itself."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.hub_caller import add_as_flag, caller_named
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import pretty, print_json, print_line
from accord.cli.params import read_params
from accord.cli.parser import Parser
from accord.cli.setting_flags import settings_from

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
    from accord.app.plugins import load_plugins

    plugins = load_plugins(settings_from(arguments).settings.plugins)
    registry = all_operations(plugins.formats, plugins.operations)
    if arguments.operation is None:
        _list(registry, as_json=arguments.json)
        return exits.OK
    found = _found(registry, arguments.operation)
    if arguments.about:
        if arguments.json:
            print_json(_described(found))
        else:
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
    advice = f"did you mean {' or '.join(close)}?" if close else "accord hub do lists them all"
    raise UsageError(f"there is no operation {name!r}", advice=advice)


def _list(registry: Registry, *, as_json: bool) -> None:
    if as_json:
        print_json([_described(operation) for operation in registry])
        return
    for operation in registry:
        print_line(f"{_signature(operation)}\n    {_first_sentence(operation)}")


def _described(operation: Operation) -> dict[str, Any]:
    from accord.schema.types import accepts

    return {
        "name": operation.name,
        "description": operation.description,
        "right": operation.right,
        "rest": [f"{rest.verb} /api/v1{rest.path}" for rest in operation.rest],
        "parameters": [
            {"name": each.name, "required": each.required, "schema": accepts(each.annotation).value}
            for each in operation.parameters
        ],
    }


def _signature(operation: Operation) -> str:
    words = (each.name if each.required else f"[{each.name}]" for each in operation.parameters)
    return f"{operation.name}({', '.join(words)})"


def _first_sentence(operation: Operation) -> str:
    return " ".join(operation.description.split("\n\n")[0].split())


def _tell(operation: Operation) -> None:
    told = _described(operation)
    print_line(f"{_signature(operation)}\n\n{told['description']}\n")
    print_line(f"needs the right {told['right']}")
    for route in told["rest"]:
        print_line(route)
    for each in told["parameters"]:
        schema = msgspec.json.encode(each["schema"]).decode()
        print_line(f"  {each['name']}{'' if each['required'] else ' (optional)'}: {schema}")
