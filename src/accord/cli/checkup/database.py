"""The database: whether it answers, is whole, is of this release and belongs to the key."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from accord.app.local import server_key
from accord.app.settings import Settings
from accord.cli.checkup.finding import Finding, ok, problem, unseen, warning
from accord.cli.checkup.reading import Readable, file_of, open_file, open_readable
from accord.cli.db_status import look as look_at_migrations
from accord.cli.installation import is_there
from accord.operations.accounts.server_key import KEY_FILE, ServerKeyError, stored_fingerprint
from accord.store import StoreError

CHECK_SECONDS: Final = 10.0
"""How long a file may be looked at."""
STEPS: Final = 100_000
"""Of SQLite, between two looks at the clock."""
MOST_DIFFERENCE: Final = 2.0
"""Seconds by which the clocks of the machines may differ; leases are kept by them."""

SQLITE_CHECK: Final = "PRAGMA quick_check(1)"
POSTGRES_ABOUT: Final = """
SELECT current_setting('server_version') AS version,
       extract(epoch FROM clock_timestamp())::float8 AS now
"""
RESTORE: Final = "restore a backup; do not start the server on it"


async def look(settings: Settings) -> AsyncIterator[Finding]:
    if not is_there(settings):
        yield unseen("database", "there is none yet", "accord serve makes one")
        return
    if not settings.is_shared:
        for finding in _file(file_of(settings)):
            yield finding
            if finding.state == "problem":
                return
    try:
        async with open_readable(settings) as store:
            if settings.is_shared:
                yield await _server(store)
            async for finding in _contents(store, settings):
                yield finding
    except (StoreError, ValueError) as error:
        advice = "check that it runs, and --database or ACCORD_DATABASE"
        yield problem("database", str(error), advice)


def _file(path: Path) -> Iterator[Finding]:
    """Read only, and no longer than a moment."""
    size = f"{path.stat().st_size / 2**20:,.1f} MiB"
    try:
        with open_file(path) as connection:
            until = time.monotonic() + CHECK_SECONDS
            connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
            found = connection.execute(SQLITE_CHECK).fetchone()
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            detail = f"{size} were not looked at within {CHECK_SECONDS:.0f} s"
            yield unseen("file", detail, f"sqlite3 {path} 'PRAGMA quick_check' takes its time")
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


async def _server(store: Readable) -> Finding:
    before = time.time()
    about = (await store.fetch(POSTGRES_ABOUT))[0]
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


async def _contents(store: Readable, settings: Settings) -> AsyncIterator[Finding]:
    try:
        found = await look_at_migrations(store)
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


async def _owner(store: Readable, settings: Settings) -> Finding:
    """Whether the database belongs to the key that there is."""
    if not settings.is_shared and not (Path(settings.data) / KEY_FILE).is_file():
        advice = "restore the file key from a backup: with another, no token is known"
        return problem("key", "the database is there and its key is not", advice)
    try:
        key = server_key(settings)
    except ServerKeyError as error:
        return unseen("key", str(error))
    known = await stored_fingerprint(store)
    if known is not None and known != key.fingerprint:
        advice = "restore the key that it was made with"
        return problem("key", "the database belongs to another server key", advice)
    return ok("key", "the database belongs to it")
