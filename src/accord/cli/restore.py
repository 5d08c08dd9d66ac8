"""`accord restore`: makes an installation of a backup."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.audit_verify import print_report
from accord.cli.exits import UsageError
from accord.cli.local import add_local_flags
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser
from accord.cli.progress import add_quiet_flag, progress_of
from accord.cli.setting_flags import settings_from

if TYPE_CHECKING:
    from accord.app.keeping.manifest import Manifest
    from accord.app.keeping.restore import Restored

USAGE: Final = "accord restore FILE [--check] [--force] [--json] [options]"

DESCRIPTION: Final = """\
Make an installation of what accord backup wrote: the data directory, or a database in PostgreSQL
and the files beside it. All of the file is read and compared with what was written before anything
is touched; a backup of an earlier release is brought up to this one, and the audit trail is looked
at. The exit code is 1 where something is wrong with that.

Nothing is restored over what is there: --force moves that aside, to a folder or schema named
before-restore, and removes nothing. With --check the file is read, and nothing else is done.

Runs that were under way go on as soon as a server is started. Stop the one that the backup was
taken from, or both will do them.

examples:
  accord restore accord-2026-05-01T03-00-00Z.tar.gz --data /var/lib/accord
  accord restore accord.tar.gz --database postgresql://accord@db/empty --data /var/lib/accord
  accord restore accord.tar.gz --check
"""


def configure(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="what accord backup wrote")
    parser.add_argument("--check", action="store_true", help="read all of it, and touch nothing")
    parser.add_argument("--force", action="store_true", help="move aside what is there")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    from accord.app.keeping.errors import KeepingError

    try:
        return _check(arguments) if arguments.check else _restore(arguments)
    except KeepingError as error:
        raise UsageError(str(error), advice="") from None


def _check(arguments: argparse.Namespace) -> int:
    from accord.app.keeping.restore import check_backup

    with progress_of(arguments, "checking", "bytes") as progress:
        manifest = asyncio.run(check_backup(Path(arguments.file), progress=progress))
    if arguments.json:
        print_json(manifest)
    else:
        print_line(f"{arguments.file} is as it was written: {_about(manifest)}")
    return exits.OK


def _restore(arguments: argparse.Namespace) -> int:
    from accord.app.keeping.restore import restore
    from accord.operations.logs.setup import configure_logging

    configure_logging("debug" if arguments.debug else "warning", "text")
    settings = settings_from(arguments).settings
    with progress_of(arguments, "restoring", "bytes") as progress:
        restored = asyncio.run(
            restore(Path(arguments.file), settings, force=arguments.force, progress=progress)
        )
    if arguments.json:
        print_json(restored)
    else:
        _print(restored)
    return exits.OK if restored.audit.is_intact else exits.ANSWERED_WITH_ERROR


def _print(restored: Restored) -> None:
    print_line(f"{restored.data} is restored: {_about(restored.manifest)}")
    for migration in restored.migrated:
        print_line(f"migrated: {migration}")
    for moved in restored.moved:
        print_line(f"what was there before is in {moved}")
    print_report(restored.audit)
    for note in restored.notes:
        print_line(f"note: {note}")


def _about(manifest: Manifest) -> str:
    engine = {"sqlite": "SQLite", "postgresql": f"PostgreSQL {manifest.engine_version}"}
    key = "" if manifest.has("key") else ", without the server key"
    return (
        f"release {manifest.release}, {engine[manifest.engine]}, taken at {manifest.created_at}, "
        f"{manifest.size:,} bytes{key}"
    )
