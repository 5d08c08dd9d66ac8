"""Checks of the data directory, the database and the audit trail."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from accord.app.database import is_served
from accord.app.runtime import server_key
from accord.app.settings import Settings
from accord.cli.backup import Readable, migrations_of
from accord.cli.doctor.environment import CheckResult, not_checked, ok, problem, warning
from accord.cli.exits import UsageError
from accord.cli.installation import audit_key, is_there
from accord.cli.serve import FIRST_RUN_FILE
from accord.operations.audit.record import Chain
from accord.operations.audit.storage import READ_HEAD
from accord.operations.audit.trail import HEAD_FILE_NAME, read_head_file
from accord.operations.auth.server_key import KEY_FILE, ServerKeyError, stored_fingerprint
from accord.store import StoreError, open_store
from accord.store.catalog import APPLIED, EXISTS, QUICK_CHECK, SERVER_CLOCK
from accord.store.store import Engine, Row, StoreUnavailableError

# The data directory


MIB: Final = 2**20
LITTLE: Final = 1024 * MIB
TOO_LITTLE: Final = 100 * MIB
OTHERS: Final = 0o077


def check_folder(settings: Settings) -> Iterator[CheckResult]:
    data = Path(settings.data)
    if not data.exists():
        yield not_checked(
            "folder", f"there is no {data}", "accord serve makes it; --data says where"
        )
        return
    if not data.is_dir():
        yield problem("folder", f"{data} is no folder", "say with --data where it is")
        return
    yield _folder(data)
    yield _room(data)
    if not settings.is_shared:
        yield _key(data / KEY_FILE)
        yield _served(data)
    if (data / FIRST_RUN_FILE).exists():
        advice = f"keep what is in it elsewhere, then rm {data / FIRST_RUN_FILE}"
        yield warning(FIRST_RUN_FILE, "the first password and token are still in a file", advice)


def _folder(data: Path) -> CheckResult:
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        return problem("folder", f"you may not write to {data}", f"see who owns it: ls -ld {data}")
    mode = data.stat().st_mode & 0o777
    if mode & OTHERS:
        return warning("folder", f"others may look into {data} ({mode:04o})", f"chmod 700 {data}")
    return ok("folder", f"{data.absolute()}, for nobody else")


def _room(data: Path) -> CheckResult:
    free = shutil.disk_usage(data).free
    detail = f"{free // MIB:,} MiB are free"
    if free < TOO_LITTLE:
        return problem("room", detail, "make room, or move the data directory")
    if free < LITTLE:
        return warning("room", detail, "make room before writes fail")
    return ok("room", detail)


def _key(file: Path) -> CheckResult:
    try:
        mode = file.stat().st_mode & 0o777
    except FileNotFoundError:
        return not_checked("key", "there is none yet", "accord serve makes one")
    if mode & OTHERS:
        detail = f"others can read {file} (mode {mode:04o}): nothing starts"
        return problem("key", detail, f"chmod 600 {file}")
    if not os.access(file, os.R_OK):
        return problem("key", f"you may not read {file}", f"see who owns it: ls -l {file}")
    return ok("key", "only its owner can read it")


def _served(data: Path) -> CheckResult:
    return ok("server", "one runs on it" if is_served(data) else "none runs on it")


# The database


CHECK_SECONDS: Final = 10.0
"""The time limit in seconds for checking a SQLite file."""
STEPS: Final = 100_000
"""SQLite checks the time limit each time after this many virtual machine instructions."""
MOST_DIFFERENCE: Final = 2.0
"""The most seconds by which the clocks of the database and of this machine may differ.
Leases depend on both clocks."""

RESTORE: Final = "restore a backup; do not start the server on it"


async def check_database(settings: Settings) -> AsyncIterator[CheckResult]:
    if not is_there(settings):
        yield not_checked("database", "there is none yet", "accord serve makes one")
        return
    if not settings.is_shared:
        for finding in _file(file_of(settings)):
            yield finding
            if finding.state == "problem":
                return
    try:
        async with open_readable(settings) as store:
            if settings.is_shared:
                yield await _clock(store)
            async for finding in _contents(store, settings):
                yield finding
    except (StoreError, ValueError) as error:
        advice = "check that it runs, and --database or ACCORD_DATABASE"
        yield problem("database", str(error), advice)


def _file(path: Path) -> Iterator[CheckResult]:
    """Check the SQLite file for damage, read-only and for at most `CHECK_SECONDS`."""
    size = f"{path.stat().st_size / 2**20:,.1f} MiB"
    try:
        with open_file(path) as connection:
            until = time.monotonic() + CHECK_SECONDS
            connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
            found = connection.execute(QUICK_CHECK).fetchone()
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            detail = f"{size} were not looked at within {CHECK_SECONDS:.0f} s"
            yield not_checked("file", detail, f"sqlite3 {path} 'PRAGMA quick_check' takes its time")
            return
        yield problem("file", f"{path} cannot be read: {error}", "see who owns it and what uses it")
        return
    except sqlite3.DatabaseError as error:
        yield problem("file", f"{path} is damaged: {error}", RESTORE)
        return
    if found[0] != "ok":
        yield problem("file", f"{path} is damaged: {found[0]}", RESTORE)
        return
    yield ok("file", f"SQLite {sqlite3.sqlite_version}, {size}, a quick check found nothing wrong")


async def _clock(store: Readable) -> CheckResult:
    before = time.time()
    about = (await store.fetch(SERVER_CLOCK))[0]
    after = time.time()
    now: float = about["now"]
    difference = max(before - now, now - after, 0.0)
    if difference > MOST_DIFFERENCE:
        return warning(
            "server",
            f"PostgreSQL {about['version']}; its clock and ours differ by {difference:.0f} s",
            "have both machines keep the time (NTP)",
        )
    return ok("server", f"PostgreSQL {about['version']}, whose clock agrees with ours")


async def _contents(store: Readable, settings: Settings) -> AsyncIterator[CheckResult]:
    try:
        found = await migrations_of(store)
    except StoreError as error:
        yield problem("migrations", str(error), "install the newer release again")
        return
    pending = sum(not each.applied for each in found)
    if pending:
        advice = "accord db migrate, or start the server, which does it"
        yield warning("migrations", f"{pending} of {len(found)} are pending", advice)
        return
    yield ok("migrations", f"all {len(found)} are applied")
    yield await _owner(store, settings)


async def _owner(store: Readable, settings: Settings) -> CheckResult:
    """Check that the server key exists and that the database was created with it."""
    if not settings.is_shared and not (Path(settings.data) / KEY_FILE).is_file():
        advice = "restore the file key from a backup: with another, no token is known"
        return problem("key", "the database is there and its key is not", advice)
    try:
        key = server_key(settings)
    except ServerKeyError as error:
        return not_checked("key", str(error))
    known = await stored_fingerprint(store)
    if known is not None and known != key.fingerprint:
        advice = "restore the key that it was made with"
        return problem("key", "the database belongs to another server key", advice)
    return ok("key", "the database belongs to it")


# The audit trail


VERIFY: Final = "accord audit verify tells what was changed"


async def check_trail(settings: Settings, *, readable: bool) -> CheckResult:
    """Check the signature of the audit trail's head, and that nothing was cut off.

    The head is the position of the newest record. If it is lower than the head in the data folder,
    newer records were removed. `readable` is false if the check of the database found a problem.
    """
    if not readable:
        return not_checked("head", "the database has a problem", "solve that first")
    if not is_there(settings):
        return not_checked("head", "there is no audit trail yet")
    try:
        chain = Chain(audit_key(settings))
        async with open_readable(settings) as store:
            rows = await store.fetch(READ_HEAD)
    except (UsageError, StoreError, ValueError) as error:
        return not_checked("head", str(error))
    if not rows:
        return not_checked("head", "nothing is on record yet")
    head = chain.head(rows[0]["value"])
    if head is None:
        return problem("head", "the head of the audit trail is not genuine", VERIFY)
    kept = read_head_file(Path(settings.data) / HEAD_FILE_NAME, chain)
    if kept is not None and kept.sequence > head.sequence:
        detail = f"ends at {head.sequence:,}, and went to {kept.sequence:,} once: it was cut off"
        return problem("head", detail, VERIFY)
    return ok("head", f"genuine, at {head.sequence:,}; accord audit verify looks at every record")


# Reading without writing


class SqliteFile:
    """A connection to a SQLite file opened read-only; implements `Readable`."""

    engine: Engine = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self._connection = connection

    async def applied(self, part: str) -> dict[int, str]:
        if not await self.fetch(EXISTS[self.engine]):
            return {}
        return {row["number"]: row["name"] for row in await self.fetch(APPLIED, part)}

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        given = {str(number): value for number, value in enumerate(arguments, 1)}
        try:
            return [dict(row) for row in self._connection.execute(sql, given)]
        except sqlite3.OperationalError as error:
            raise StoreUnavailableError(str(error)) from None
        except sqlite3.DatabaseError as error:
            raise StoreError(str(error)) from None


def file_of(settings: Settings) -> Path:
    """Return the path of the SQLite file in the setting `database_url`."""
    return Path(unquote(urlsplit(settings.database_url).path))


@contextmanager
def open_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file read-only. Raises sqlite3.Error if that fails."""
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        yield connection


@asynccontextmanager
async def open_readable(settings: Settings) -> AsyncIterator[Readable]:
    """Open the database of an installation to read it.

    A SQLite file is opened read-only: a store would create files beside it that belong to the
    current user. Raises StoreError if the database cannot be opened, and ValueError if the URL
    names no database.
    """
    if settings.database_url.startswith("sqlite:"):
        try:
            with open_file(file_of(settings)) as connection:
                yield SqliteFile(connection)
        except sqlite3.Error as error:
            raise StoreUnavailableError(str(error)) from None
        return
    async with open_store(settings.database_url) as store:
        yield store
