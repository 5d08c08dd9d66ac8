"""`accord mcp inspect`: who an MCP server is, what it can do and what it offers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from accord.cli import exits
from accord.cli.mcp_catalogue import KINDS, catalogue, shown
from accord.cli.mcp_target import TARGETS, add_target, talk
from accord.cli.output import paint, print_json, print_line, printable
from accord.cli.parser import Parser
from accord.mcp.client.client import Client

USAGE: Final = "accord mcp inspect [options] TARGET"

DESCRIPTION: Final = f"""\
Show who an MCP server is: its name and version, the version of the protocol that is spoken, its
capabilities and instructions, and all that it lists.

{TARGETS}

examples:
  accord mcp inspect server.py
  accord mcp inspect http://127.0.0.1:8000/mcp --protocol 2025-06-18
"""


def configure(parser: Parser) -> None:
    add_target(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(client: Client) -> int:
        found = await catalogue(client, list(KINDS.values()))
        if arguments.json:
            print_json({**_about(client), **found})
            return exits.OK
        for line in (*_introduced(client), *shown(found)):
            print_line(line)
        return exits.OK

    return talk(arguments, use)


def _about(client: Client) -> dict[str, Any]:
    return {
        "protocolVersion": client.protocol_version,
        "serverInfo": client.server,
        "capabilities": client.capabilities,
        "instructions": client.instructions,
    }


def _introduced(client: Client) -> Iterator[str]:
    server = client.server
    name = "a server without a name" if server is None else f"{server.name} {server.version}"
    yield f"{printable(name)}, protocol {printable(client.protocol_version)}"
    able = ", ".join(msgspec.to_builtins(client.capabilities)) or "none"
    yield f"{paint('capabilities', 'key', sys.stdout)} {printable(able)}"
    for line in client.instructions.splitlines():
        yield f"{paint('instructions', 'key', sys.stdout)} {printable(line)}"
