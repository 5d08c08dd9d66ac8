"""`accord db status`: which migrations an installation's database has."""

from __future__ import annotations

import argparse
import asyncio
from typing import Final

from msgspec import Struct

from accord.app.parts import PARTS
from accord.cli import exits
from accord.cli.checkup.reading import Readable
from accord.cli.installation import existing
from accord.cli.local import add_local_flags
from accord.cli.output import print_json
from accord.cli.parser import Parser
from accord.cli.table import print_table
from accord.store import open_store
from accord.store.migrations import migrations, missing

USAGE: Final = "accord db status [--json] [options]"

DESCRIPTION: Final = """\
Show which migrations the database has, and which are pending. Nothing is changed. The exit code is
1 while some are pending.

examples:
  accord db status --data /var/lib/accord
  accord db status --database postgresql://accord@db/accord --json
"""


class Migration(Struct, frozen=True):
    """One of them."""

    part: str
    number: int
    name: str
    applied: bool


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    found = asyncio.run(_open_and_look(existing(arguments).database_url))
    if arguments.json:
        print_json(found)
    else:
        print_migrations(found)
    return exits.OK if all(each.applied for each in found) else exits.ANSWERED_WITH_ERROR


async def look(store: Readable) -> list[Migration]:
    """All migrations that this release knows. Raises StoreError for a database of another."""
    found = []
    for part, folder in PARTS.items():
        known = migrations(folder, store.engine)
        applied = await store.applied(part)
        missing(known, applied, part)
        found += [Migration(part, each.number, each.name, each.number in applied) for each in known]
    return found


def print_migrations(found: list[Migration]) -> None:
    print_table(
        ("part", "migration", "state"),
        [
            (each.part, f"{each.number:04d}_{each.name}", "applied" if each.applied else "pending")
            for each in found
        ],
    )


async def _open_and_look(url: str) -> list[Migration]:
    async with open_store(url) as store:
        return await look(store)
