"""`accord workflow archive`: archives runs that ended long ago, or removes them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import run_local
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.progress import add_quiet_flag, progress_of
from accord.cli.setting_flags import add_setting_flags, settings_from

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = (
    "accord workflow archive [--keep-runs-days DAYS] [--old-runs archive|remove] [options]"
)

DESCRIPTION: Final = """\
Move runs that ended long ago from the database to files in the data directory, archive/runs-YEAR-
MONTH.jsonl, a line of JSON each with its whole history; or remove them for good. Executors do the
same every hour.

examples:
  accord workflow archive --data /var/lib/accord
  accord workflow archive --keep-runs-days 30 --old-runs remove
"""


def configure(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_setting_flags(parser, ("data", "database", "keep_runs_days", "old_runs"))


def run(arguments: argparse.Namespace) -> int:
    from accord.app.old_runs import old_runs

    settings = settings_from(arguments).settings

    async def archive(local: Local) -> int:
        try:
            with progress_of(arguments, "archiving", "runs") as progress:
                count = await old_runs(settings, local.store).sweep(progress)
        except OSError as error:
            raise UsageError(f"cannot write to {error.filename}: {error.strerror}") from None
        done = "archived" if settings.old_runs == "archive" else "removed"
        if arguments.json:
            print_json({"runs": count, "done": done})
        else:
            print_line(f"{count:,} runs {done}")
        return exits.OK

    return run_local(arguments, archive)
