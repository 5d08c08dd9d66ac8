"""`accord mcp read`: reads a resource of any MCP server."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from msgspec import UNSET

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.mcp_contents import decoded, shown_resource
from accord.cli.mcp_target import TARGETS, add_target, talk
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.mcp.client.client import Client
from accord.mcp.protocol.content import ResourceContents

USAGE: Final = "accord mcp read [options] TARGET URI"

DESCRIPTION: Final = f"""\
Read a resource and print its contents. Where stdout is no terminal, binary contents are written
to it as they are.

{TARGETS}

examples:
  accord mcp read server.py weather://oslo
  accord mcp read https://example.org/mcp file:///logo.png > logo.png
"""


def configure(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument("uri", metavar="URI", nargs="?", help="the resource")


def run(arguments: argparse.Namespace) -> int:
    if arguments.uri is None:
        raise UsageError("a URI is missing")

    async def use(client: Client) -> int:
        result = await client.read_resource(arguments.uri)
        if arguments.json:
            print_json(result)
        for contents in () if arguments.json else result.contents:
            _write(contents)
        return exits.OK

    return talk(arguments, use)


def _write(contents: ResourceContents) -> None:
    content = None if contents.blob is UNSET else decoded(contents.blob)
    if content is None or sys.stdout.isatty():
        print_line(shown_resource(contents))
    else:
        sys.stdout.buffer.write(content)
