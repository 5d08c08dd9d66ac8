"""Commands that maintain an installation: backups, migrations, audit trail."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from msgspec import Struct

from accord.app.database import MIGRATIONS
from accord.app.settings import CONFIG, FILE, Settings
from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.installation import add_local_flags, audit_key, existing, settings_from
from accord.cli.output import (
    Progress,
    add_quiet_flag,
    paint,
    print_error_line,
    print_json,
    print_line,
    print_table,
    printable,
    progress_of,
)
from accord.operations.audit.operations import EXPORT_FORMATS, ExportFormat, Write, export_trail
from accord.operations.audit.record import Chain, ChainHead
from accord.operations.audit.trail import HEAD_FILE_NAME, read_head_file
from accord.operations.audit.verify import VerificationReport, verify
from accord.operations.errors import ConflictError
from accord.store import open_store
from accord.store.catalog import migrations, pending_migrations
from accord.store.store import Engine, Row

if TYPE_CHECKING:
    from accord.app.backup.archive import Manifest
    from accord.app.backup.backup import BackupResult
    from accord.app.backup.restore import RestoreResult


# accord backup


BACKUP_USAGE: Final = "accord backup FILE [--without-key] [--json] [options]"

BACKUP_DESCRIPTION: Final = """\
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


def _configure_backup(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write, or the folder for it")
    parser.add_argument(
        "--without-key", action="store_true", help="leave the server key out of the file"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def _run_backup(arguments: argparse.Namespace) -> int:
    from accord.app.backup.archive import BackupError
    from accord.app.backup.backup import take_backup

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
        except BackupError as error:
            raise UsageError(str(error), advice="") from None
    if arguments.json:
        print_json(taken)
    else:
        _print_backup(taken)
    return exits.OK


def _settings_file(arguments: argparse.Namespace, settings: Settings) -> Path:
    named = arguments.config or os.environ.get(CONFIG)
    return Path(named) if named else Path(settings.data) / FILE


def _print_backup(taken: BackupResult) -> None:
    print_line(f"{taken.file} has {taken.size:,} bytes, of {taken.manifest.size:,}:")
    for member in taken.manifest.members:
        print_line(f"  {member.name:<26} {member.size:>15,}")


# accord restore


RESTORE_USAGE: Final = "accord restore FILE [--check] [--force] [--json] [options]"

RESTORE_DESCRIPTION: Final = """\
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


def _configure_restore(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="what accord backup wrote")
    parser.add_argument("--check", action="store_true", help="read all of it, and touch nothing")
    parser.add_argument("--force", action="store_true", help="move aside what is there")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def _run_restore(arguments: argparse.Namespace) -> int:
    from accord.app.backup.archive import BackupError

    try:
        return _check_backup(arguments) if arguments.check else _restore_backup(arguments)
    except BackupError as error:
        raise UsageError(str(error), advice="") from None


def _check_backup(arguments: argparse.Namespace) -> int:
    from accord.app.backup.restore import check_backup

    with progress_of(arguments, "checking", "bytes") as progress:
        manifest = asyncio.run(check_backup(Path(arguments.file), progress=progress))
    if arguments.json:
        print_json(manifest)
    else:
        print_line(f"{arguments.file} is as it was written: {_about_backup(manifest)}")
    return exits.OK


def _restore_backup(arguments: argparse.Namespace) -> int:
    from accord.app.backup.restore import restore
    from accord.operations.logs import configure_logging

    configure_logging("debug" if arguments.debug else "warning", "text")
    settings = settings_from(arguments).settings
    with progress_of(arguments, "restoring", "bytes") as progress:
        restored = asyncio.run(
            restore(Path(arguments.file), settings, force=arguments.force, progress=progress)
        )
    if arguments.json:
        print_json(restored)
    else:
        _print_restored(restored)
    return exits.OK if restored.audit.is_intact else exits.ANSWERED_WITH_ERROR


def _print_restored(restored: RestoreResult) -> None:
    print_line(f"{restored.data} is restored: {_about_backup(restored.manifest)}")
    for migration in restored.migrated:
        print_line(f"migrated: {migration}")
    for moved in restored.moved:
        print_line(f"what was there before is in {moved}")
    print_report(restored.audit)
    for note in restored.notes:
        print_line(f"note: {note}")


def _about_backup(manifest: Manifest) -> str:
    engine = {"sqlite": "SQLite", "postgresql": f"PostgreSQL {manifest.engine_version}"}
    key = "" if manifest.has("key") else ", without the server key"
    return (
        f"release {manifest.release}, {engine[manifest.engine]}, taken at {manifest.created_at}, "
        f"{manifest.size:,} bytes{key}"
    )


# accord db status


STATUS_USAGE: Final = "accord db status [--json] [options]"

STATUS_DESCRIPTION: Final = """\
Show which migrations the database has, and which are pending. Nothing is changed. The exit code is
1 while some are pending.

examples:
  accord db status --data /var/lib/accord
  accord db status --database postgresql://accord@db/accord --json
"""


class MigrationState(Struct, frozen=True):
    """A database migration of one part of Accord, and whether it is applied.

    `applied` is true if the database has the migration.
    """

    part: str
    number: int
    name: str
    applied: bool


def _configure_status(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_local_flags(parser)


def _run_status(arguments: argparse.Namespace) -> int:
    found = asyncio.run(_open_and_look(existing(arguments).database_url))
    if arguments.json:
        print_json(found)
    else:
        print_migrations(found)
    return exits.OK if all(each.applied for each in found) else exits.ANSWERED_WITH_ERROR


class Readable(Protocol):
    """Read access to a database.

    Stores have it, and so have SQLite files that are opened read-only.
    """

    engine: Engine

    async def applied(self, part: str) -> dict[int, str]:
        """Return the names of the applied migrations of a part of Accord, by number."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """Return the rows of one SQL statement. Raises StoreError if it fails."""


async def migrations_of(store: Readable) -> list[MigrationState]:
    """Return all migrations of this release, marked as applied or pending.

    Raises StoreError if the database has a migration that this release does not know, or knows by
    another name.
    """
    found = []
    for part, folder in MIGRATIONS.items():
        known = migrations(folder, store.engine)
        applied = await store.applied(part)
        pending_migrations(known, applied, part)
        found += [
            MigrationState(part, each.number, each.name, each.number in applied) for each in known
        ]
    return found


def print_migrations(found: list[MigrationState]) -> None:
    print_table(
        ("part", "migration", "state"),
        [
            (each.part, f"{each.number:04d}_{each.name}", "applied" if each.applied else "pending")
            for each in found
        ],
    )


async def _open_and_look(url: str) -> list[MigrationState]:
    async with open_store(url) as store:
        return await migrations_of(store)


# accord db migrate


MIGRATE_USAGE: Final = "accord db migrate [options]"

MIGRATE_DESCRIPTION: Final = """\
Run the migrations that the database does not have yet; a database that is not there is made. The
server does the same when it starts. Migrations of one part are run all or none.

examples:
  accord db migrate --data /var/lib/accord
  accord db migrate --database postgresql://accord@db/accord
"""


def _configure_migrate(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def _run_migrate(arguments: argparse.Namespace) -> int:
    settings = settings_from(arguments).settings
    if not settings.is_shared:
        Path(settings.data).mkdir(mode=0o700, parents=True, exist_ok=True)
    with progress_of(arguments, "migrating", "migrations") as progress:
        run_now = asyncio.run(_run_migrations(settings.database_url, progress))
    if arguments.json:
        print_json(run_now)
    elif run_now:
        print_migrations(run_now)
    else:
        print_line("nothing is pending")
    return exits.OK


async def _run_migrations(url: str, progress: Progress) -> list[MigrationState]:
    """Run all pending migrations and return them."""
    async with open_store(url) as store:
        before = await migrations_of(store)
        pending = [each.part for each in before if not each.applied]
        done = 0
        for part, folder in MIGRATIONS.items():
            await store.migrate(part, folder)
            done += pending.count(part)
            progress(done, len(pending))
        after = await migrations_of(store)
        return [now for was, now in zip(before, after, strict=True) if not was.applied]


# accord audit verify


VERIFY_USAGE: Final = "accord audit verify [--head SEQUENCE:HASH]… [--json] [options]"

VERIFY_DESCRIPTION: Final = """\
Look at every record of the audit trail, its seal and its place in the chain, and say what is not
as it was written: what was edited, removed, cut off, forged, or left without a seal. Then compare
the data with it: items, links, comments, revisions, baselines, proposals, accounts, tokens, agents
and workflows, and name each row and field that no operation wrote. The exit code is 1 where
something is found. What an older release did not keep enough of is listed as not provable. Nothing
is changed, and the server may run meanwhile.

Somebody who can write to the database may turn all of it back to what it was once. That is found
by a head which was kept elsewhere: the file `audit-head` in the data directory is looked at by
itself; one from the log, or from the last line of an export, is given with --head.

examples:
  accord audit verify --data /var/lib/accord
  accord audit verify --database postgresql://accord@db/accord --head 4711:9f2c…
"""

_HEAD: Final = re.compile(r"(\d{1,18}):([0-9a-f]{64}|)")


def _configure_verify(parser: Parser) -> None:
    parser.add_argument(
        "--head",
        metavar="SEQUENCE:HASH",
        type=_read_head,
        action="append",
        default=[],
        help="a head that was kept elsewhere; can be repeated",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    add_quiet_flag(parser)
    add_local_flags(parser)


def _run_verify(arguments: argparse.Namespace) -> int:
    settings = existing(arguments)
    key = audit_key(settings)
    with progress_of(arguments, "verifying", "records") as progress:
        report = asyncio.run(_verify_trail(settings, key, arguments.head, progress))
    if arguments.json:
        print_json(report)
    else:
        print_report(report)
    return exits.OK if report.is_intact else exits.ANSWERED_WITH_ERROR


async def _verify_trail(
    settings: Settings, key: bytes, heads: list[ChainHead], progress: Progress
) -> VerificationReport:
    from accord.app.composition import data_checks

    # Read the file first: the trail may grow meanwhile, but never shrinks below it.
    kept = read_head_file(Path(settings.data) / HEAD_FILE_NAME, Chain(key))
    async with open_store(settings.database_url) as store:
        anchors = [*heads, *([kept] if kept else [])]
        return await verify(store, key, anchors=anchors, progress=progress, checks=data_checks())


def print_report(report: VerificationReport) -> None:
    for finding in report.findings:
        label = paint(finding.fault, "error", sys.stdout)
        print_line(f"{label} {printable(finding.where)}: {printable(finding.detail)}")
    for each in report.unproven:
        print_line(f"not provable: {printable(each)}")
    found = f"{len(report.findings):,} findings" if report.findings else "nothing was changed"
    print_line(f"{report.sealed:,} records sealed, {report.pending:,} about to be: {found}")
    print_line(f"{report.compared:,} rows of data compared with them")
    if report.head is not None:
        print_line(f"head {report.head}")


def _read_head(text: str) -> ChainHead:
    match = _HEAD.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be SEQUENCE:HASH, not {text!r}")
    return ChainHead(int(match[1]), match[2])


# accord audit export


EXPORT_USAGE: Final = "accord audit export [--format jsonl|csv] [--output FILE] [options]"

EXPORT_DESCRIPTION: Final = """\
Write all records of the audit trail, in the order of the chain, to stdout or to a new file. The
last line is the head: kept out of reach of whoever can write to the database, it tells later
whether something was cut off (accord audit verify --head). In CSV, cells that a spreadsheet would
take for a formula begin with an apostrophe.

examples:
  accord audit export --data /var/lib/accord > trail.jsonl
  accord audit export --format csv --output trail.csv
"""


def _configure_export(parser: Parser) -> None:
    parser.add_argument(
        "--format", choices=EXPORT_FORMATS, default="jsonl", help="(default: jsonl)"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write to this new file")
    parser.add_argument(
        "--json",
        action="store_true",
        help="tell what was written, for programs; nothing but the records without --output",
    )
    add_local_flags(parser)


def _run_export(arguments: argparse.Namespace) -> int:
    if arguments.json and arguments.output is None and arguments.format != "jsonl":
        raise UsageError("--json needs --output FILE, or --format jsonl")
    settings = existing(arguments)
    key = audit_key(settings)
    if arguments.output is None:
        head = asyncio.run(
            _export_trail(settings.database_url, key, sys.stdout.buffer.write, arguments.format)
        )
    else:
        with _new_file(arguments.output) as file:
            head = asyncio.run(
                _export_trail(settings.database_url, key, file.write, arguments.format)
            )
    if head is None:
        raise ConflictError("the trail has no genuine head: see accord audit verify")
    if not arguments.json:
        print_error_line(f"head {head}")
    elif arguments.output is not None:
        print_json({"format": arguments.format, "file": str(arguments.output), "head": str(head)})
    return exits.OK


async def _export_trail(
    url: str, key: bytes, write: Write, format: ExportFormat
) -> ChainHead | None:
    async with open_store(url) as store:
        return await export_trail(store, key, write, format=format)


def _new_file(path: Path) -> BinaryIO:
    """Create a file that only its owner can read.

    Raises `UsageError` if the file exists or cannot be created.
    """
    try:
        return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


COMMANDS: Final = {
    "backup": Command(BACKUP_USAGE, BACKUP_DESCRIPTION, _configure_backup, _run_backup),
    "restore": Command(RESTORE_USAGE, RESTORE_DESCRIPTION, _configure_restore, _run_restore),
    "db status": Command(STATUS_USAGE, STATUS_DESCRIPTION, _configure_status, _run_status),
    "db migrate": Command(MIGRATE_USAGE, MIGRATE_DESCRIPTION, _configure_migrate, _run_migrate),
    "audit verify": Command(VERIFY_USAGE, VERIFY_DESCRIPTION, _configure_verify, _run_verify),
    "audit export": Command(EXPORT_USAGE, EXPORT_DESCRIPTION, _configure_export, _run_export),
}
