"""`accord db migrate`: brings an installation's database up to this release."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Final

from accord.app.parts import PARTS
from accord.cli import exits
from accord.cli.db_status import Migration, look, print_migrations
from accord.cli.local import add_local_flags
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.progress import Progress, add_quiet_flag, progress_of
from accord.cli.setting_flags import settings_from
from accord.store import open_store

USAGE: Final = "accord db migrate [options]"

DESCRIPTION: Final = """\
Run the migrations that the database does not have yet; a database that is not there is made. The
server does the same when it starts. Migrations of one part are run all or none.

examples:
  accord db migrate --data /var/lib/accord
  accord db migrate --database postgresql://accord@db/accord
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    settings = settings_from(arguments).settings
    if not settings.is_shared:
        Path(settings.data).mkdir(mode=0o700, parents=True, exist_ok=True)
    with progress_of(arguments, "migrating", "migrations") as progress:
        run_now = asyncio.run(_migrate(settings.database_url, progress))
    if arguments.json:
        print_json(run_now)
    elif run_now:
        print_migrations(run_now)
    else:
        print_line("nothing is pending")
    return exits.OK


async def _migrate(url: str, progress: Progress) -> list[Migration]:
    """What was pending, as it is now."""
    async with open_store(url) as store:
        before = await look(store)
        pending = [each.part for each in before if not each.applied]
        done = 0
        for part, folder in PARTS.items():
            await store.migrate(part, folder)
            done += pending.count(part)
            progress(done, len(pending))
        after = await look(store)
        return [now for was, now in zip(before, after, strict=True) if not was.applied]
