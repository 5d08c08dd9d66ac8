"""`accord backup`: all of an installation in one file, while it runs."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from accord.app.settings import CONFIG, FILE, Settings
from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.progress import add_quiet_flag, progress_of
from accord.cli.setting_flags import settings_from

if TYPE_CHECKING:
    from accord.app.keeping.backup import Taken

USAGE: Final = "accord backup FILE [--without-key] [--json] [options]"

DESCRIPTION: Final = """\
Write all of an installation to one file: the database as it is at one moment, the server key, the
file with settings, and runs that were archived. The server may run meanwhile. In a folder, the file
is named by the time.

The file is there completely or not at all, and only you can read it: whoever has it has all
requirements, and with the key also whatever is secret. --without-key leaves that out; keep it
elsewhere then, as nothing can be restored without it. A database in PostgreSQL needs pg_dump.

examples:
  accord backup /var/backups/accord --data /var/lib/accord
  ACCORD_SECRET_KEY=… accord backup accord.tar.gz --database postgresql://accord@db/accord
"""


def configure(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write, or the folder for it")
    parser.add_argument(
        "--without-key", action="store_true", help="leave the server key out of the file"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    from accord.app.keeping.backup import take_backup
    from accord.app.keeping.errors import KeepingError

    settings = settings_from(arguments).settings
    with progress_of(arguments, "backing up", "bytes") as progress:
        try:
            taken = asyncio.run(
                take_backup(
                    settings,
                    Path(arguments.file),
                    settings_file=_settings_file(arguments, settings),
                    with_key=not arguments.without_key,
                    progress=progress,
                )
            )
        except KeepingError as error:
            raise UsageError(str(error), advice="") from None
    if arguments.json:
        print_json(taken)
    else:
        _print(taken)
    return exits.OK


def _settings_file(arguments: argparse.Namespace, settings: Settings) -> Path:
    named = arguments.config or os.environ.get(CONFIG)
    return Path(named) if named else Path(settings.data) / FILE


def _print(taken: Taken) -> None:
    print_line(f"{taken.file} has {taken.size:,} bytes, of {taken.manifest.size:,}:")
    for member in taken.manifest.members:
        print_line(f"  {member.name:<26} {member.size:>15,}")
