"""`accord hub reindex`: writes the search index anew, on the machine itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.progress import add_quiet_flag, progress_of

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord hub reindex [options]"

DESCRIPTION: Final = """\
Write the search index anew, from what is in the hub. Nothing else is changed; writes wait until it
is done.

example:
  accord hub reindex --data /var/lib/accord
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        from accord.hub.search.index import rebuild
        from accord.operations.runner import LANE

        store = local.store
        with progress_of(arguments, "indexing", "entries") as progress:
            count = await store.transact(
                lambda db: rebuild(db, store.engine, progress=progress), lane=LANE
            )
        if arguments.json:
            print_json({"entries": count})
        else:
            print_line(f"{count:,} entries")
        return exits.OK

    return run_local(arguments, use)
