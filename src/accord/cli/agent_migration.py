"""`accord agent migration`: which registered agents have not moved to JSON-RPC."""

from __future__ import annotations

import argparse
import asyncio
from typing import Final

from msgspec import Struct

from accord.cli import exits
from accord.cli.installation import existing
from accord.cli.local import add_local_flags
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.table import print_table
from accord.store import open_store

USAGE: Final = "accord agent migration [--json] [options]"

DESCRIPTION: Final = """\
List the registered agents that are still called in the older plain format. The exit code is 1 while
there are any: the gate before that format is turned off. Nothing is changed.

examples:
  accord agent migration --data /var/lib/accord
  accord agent migration --database postgresql://accord@db/accord --json
"""

AGENTS: Final = "SELECT name, url, wire, active FROM agents ORDER BY name"


class Registered(Struct, frozen=True):
    """An agent, and the format that it is called in."""

    name: str
    url: str
    wire: str
    active: bool


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    agents = asyncio.run(_look(existing(arguments).database_url))
    left = [each for each in agents if each.wire == "plain"]
    if arguments.json:
        print_json({"agents": len(agents), "plain": left})
    else:
        _print(len(agents), left)
    return exits.ANSWERED_WITH_ERROR if left else exits.OK


async def _look(url: str) -> list[Registered]:
    async with open_store(url) as store:
        rows = await store.fetch(AGENTS)
    return [
        Registered(str(row["name"]), str(row["url"]), str(row["wire"]), bool(row["active"]))
        for row in rows
    ]


def _print(total: int, left: list[Registered]) -> None:
    if not left:
        print_line(f"None of {total:,} agents uses the plain format: it can be turned off")
        return
    print_table(
        ("agent", "url", "active"),
        [(each.name, each.url, "yes" if each.active else "no") for each in left],
    )
    print_line(f"{len(left):,} of {total:,} agents still use the plain format")
