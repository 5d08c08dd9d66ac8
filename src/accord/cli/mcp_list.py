"""`accord mcp list`: the tools, resources and prompts of any MCP server."""

from __future__ import annotations

import argparse
from typing import Final

from accord.cli import exits
from accord.cli.mcp_catalogue import KINDS, catalogue, shown
from accord.cli.mcp_target import TARGETS, add_target, talk
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.mcp.client.client import Client

USAGE: Final = "accord mcp list [options] TARGET [tools] [resources] [templates] [prompts]"

DESCRIPTION: Final = f"""\
List what an MCP server offers: everything, or the kinds that are named. --json prints the
definitions exactly as the server sends them.

{TARGETS}

examples:
  accord mcp list server.py
  accord mcp list https://example.org/mcp tools --token "$TOKEN"
  accord mcp list 'npx -y @modelcontextprotocol/server-everything' --json
"""


def configure(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument(
        "kinds", metavar="KIND", nargs="*", help=f"what to list: {', '.join(KINDS)}"
    )


def run(arguments: argparse.Namespace) -> int:
    for name in arguments.kinds:
        if name not in KINDS:
            raise exits.UsageError(f"{name!r} is none of {', '.join(KINDS)}")
    kinds = [KINDS[name] for name in arguments.kinds or KINDS]

    async def use(client: Client) -> int:
        found = await catalogue(client, kinds)
        if arguments.json:
            print_json(found)
        elif not any(found.values()):
            print_line(f"no {' or '.join(kind.name for kind in kinds)}")
        for line in () if arguments.json else shown(found):
            print_line(line)
        return exits.OK

    return talk(arguments, use)
