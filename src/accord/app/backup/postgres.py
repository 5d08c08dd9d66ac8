"""PostgreSQL for backups: pg_dump, pg_restore, and the schema that is restored to.

The programs must be of a version that fits the server. The password is in their environment, not
in their command line. What is in the schema is renamed, never removed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from msgspec import Struct

from accord.app.backup.archive import BackupError
from accord.store.catalog import (
    CURRENT_SCHEMA,
    FIRST_RELATION,
    OTHER_CONNECTIONS,
    SERVER_MAJOR,
    create_schema,
    drop_schema,
    rename_schema,
)
from accord.store.store import Store, Transaction

DEBIAN_PROGRAM: Final = "/usr/lib/postgresql/{major}/bin/{program}"
"""The path of each version's programs on Debian and Ubuntu."""
MAX_MESSAGE: Final = 500
"""Maximum number of characters quoted from the error output of a program."""

_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")


async def dump_postgres(url: str, target: Path, *, schema: str, snapshot: str, major: int) -> None:
    """Dump a schema as of `snapshot`, in the custom format of pg_dump.

    Raises BackupError.
    """
    await _run_program(
        _program("pg_dump", major),
        url,
        *("--format=custom", "--compress=0", "--no-owner", "--no-privileges"),
        *(f"--schema={_schema_pattern(schema)}", f"--snapshot={snapshot}", f"--file={target}"),
    )


async def load_postgres(url: str, source: Path, *, schema: str, major: int) -> None:
    """Load a dump into an empty schema, in one transaction. Raises BackupError."""
    await _run_program(
        _program("pg_restore", major),
        url,
        *("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"),
        *(f"--schema={schema}", str(source)),
    )


def _program(name: str, major: int) -> str:
    """Return a program that works with a server of this version. Raises BackupError."""
    advice = f"install it (Debian and Ubuntu: apt install postgresql-client-{major})"
    exact = DEBIAN_PROGRAM.format(major=major, program=name)
    found = exact if os.access(exact, os.X_OK) else shutil.which(name)
    if found is None:
        raise BackupError(f"{name} {major} or newer is needed, and is not there: {advice}")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    version = _VERSION.search(said.stdout)
    if version is None or int(version[1]) < major:
        has = version[1] if version else "unknown"
        raise BackupError(
            f"the database is PostgreSQL {major}, and {found} is of version {has}: {advice}"
        )
    return found


async def _run_program(program: str, url: str, *arguments: str) -> None:
    bare, password = _without_password(url)
    process = await asyncio.create_subprocess_exec(
        *(program, "--no-password", f"--dbname={bare}", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PGPASSWORD": password} if password else None,
    )
    try:
        _, said = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        last = " ".join(said.decode(errors="replace").split())[-MAX_MESSAGE:]
        raise BackupError(f"{Path(program).name} failed: {last or process.returncode}")


def _without_password(url: str) -> tuple[str, str]:
    """Return the URL without its password, and the password."""
    parts = urlsplit(url)
    who, _, where = parts.netloc.rpartition("@")
    user, _, password = who.partition(":")
    query = parse_qsl(parts.query, keep_blank_values=True)
    password = unquote(password) or dict(query).get("password", "")
    kept = urlencode(
        [(name, value) for name, value in query if name != "password"], quote_via=quote
    )
    netloc = f"{user}@{where}" if who else where
    return f"postgresql://{netloc}{parts.path}" + (f"?{kept}" if kept else ""), password


def _schema_pattern(schema: str) -> str:
    """Return a pattern of pg_dump that matches this schema only."""
    return '"' + schema.replace('"', '""') + '"'


CLOSE_POLLS: Final = (25, 0.2)
"""The number of checks for connections that are being closed, and the seconds between them."""


class PostgresTarget(Struct, frozen=True):
    """The schema into which a backup is restored."""

    store: Store
    schema: str
    from_major: int
    """The PostgreSQL version of the backup."""

    async def major(self) -> int:
        [row] = await self.store.fetch(SERVER_MAJOR)
        major: int = row["major"]
        return major

    async def check(self, *, force: bool) -> bool:
        """Return True if there are tables to move aside. Raises BackupError."""
        major = await self.major()
        if major < self.from_major:
            raise BackupError(
                f"the backup is of PostgreSQL {self.from_major}, and the database is of {major}: "
                "use the same version, or a newer one"
            )
        [row] = await self.store.fetch(CURRENT_SCHEMA)
        if row["schema"] != self.schema:
            raise BackupError(
                f"the tables of the backup are in the schema {self.schema!r}, and the database "
                f"would look for them in {row['schema']!r}"
            )
        if not await self._alone():
            raise BackupError("others use the database: stop every server, executor and bridge")
        found = await self.store.fetch(FIRST_RELATION, self.schema)
        if found and not force:
            raise BackupError(
                f"the database is not empty, there is {found[0]['name']!r}: name another "
                "--database, or have what is there moved aside (--force)"
            )
        return bool(found)

    async def _alone(self) -> bool:
        times, seconds = CLOSE_POLLS
        for _ in range(times):
            [row] = await self.store.fetch(OTHER_CONNECTIONS)
            if not row["others"]:
                return True
            await asyncio.sleep(seconds)
        return False


@asynccontextmanager
async def empty_schema(place: PostgresTarget, *, force: bool) -> AsyncIterator[str]:
    """Provide an empty schema while it is filled; yield the old one's new name, if any.

    A failure restores the old one. Raises BackupError and StoreError.
    """
    if not await place.check(force=force):
        yield ""
        return
    aside = f"before_restore_{datetime.now(UTC):%Y%m%d_%H%M%S_%f}"
    await _execute_all(place.store, rename_schema(place.schema, aside), create_schema(place.schema))
    try:
        yield aside
    except BaseException:
        # It is empty: it was filled in one transaction, which failed.
        await _execute_all(
            place.store, drop_schema(place.schema), rename_schema(aside, place.schema)
        )
        raise


async def _execute_all(store: Store, *statements: str) -> None:
    async def work(transaction: Transaction) -> None:
        for statement in statements:
            await transaction.execute(statement)

    await store.transact(work)
