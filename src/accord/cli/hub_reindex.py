"""`accord hub reindex`: writes the search index anew, on the machine itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_line
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord hub reindex [options]"

DESCRIPTION: Final = """\
Write the search index anew, from what is in the hub. Nothing else is changed; writes wait until it
is done.
"""


def configure(parser: Parser) -> None:
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    async def use(local: Local) -> int:
        from accord.hub.search.index import rebuild
        from accord.operations.runner import LANE

        store = local.store
        count = await store.transact(lambda db: rebuild(db, store.engine), lane=LANE)
        print_line(f"{count:,} entries")
        return exits.OK

    return run_local(arguments, use)
