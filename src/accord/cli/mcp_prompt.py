"""`accord mcp prompt`: gets a prompt of any MCP server."""

from __future__ import annotations

import argparse
import sys
from typing import Final

import msgspec

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.mcp_contents import shown_content
from accord.cli.mcp_target import TARGETS, add_target, talk
from accord.cli.output import paint, print_json, print_line
from accord.cli.params import structured
from accord.cli.parser import Parser
from accord.mcp.client.client import Client

USAGE: Final = "accord mcp prompt [options] TARGET PROMPT [NAME=VALUE …]"

DESCRIPTION: Final = f"""\
Get a prompt and print its messages. Arguments are NAME=VALUE, all of them strings, or one JSON
object.

{TARGETS}

examples:
  accord mcp prompt server.py review language=Python
"""


def configure(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the name of the prompt")
    parser.add_argument("arguments", metavar="NAME=VALUE", nargs="*", help="its arguments")


def run(arguments: argparse.Namespace) -> int:
    if arguments.prompt is None:
        raise UsageError("a PROMPT is missing")
    given = _arguments(arguments.arguments)

    async def use(client: Client) -> int:
        result = await client.get_prompt(arguments.prompt, given)
        if arguments.json:
            print_json(result)
            return exits.OK
        for message in result.messages:
            role = paint(f"{message.role}:", "key", sys.stdout)
            print_line(f"{role} {shown_content(message.content)}")
        return exits.OK

    return talk(arguments, use)


def _arguments(words: list[str]) -> dict[str, str] | None:
    """MCP, prompts: arguments are strings, also those that look like numbers."""
    if not words:
        return None
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        raw = structured(words[0].encode(errors="surrogateescape"), "the arguments")
        try:
            return msgspec.json.decode(raw, type=dict[str, str])
        except msgspec.ValidationError as error:
            raise UsageError(f"arguments of prompts are strings: {error}") from None
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{word!r} is not of the form NAME=VALUE")
        found[name] = value
    return found
