"""Backup of an installation, whose server may be running.

The order matters. The head of the audit trail is read before the database, so the database can only
be ahead of the head. Archived runs are copied after the database, since a run is written to a file
before it is removed from the database. So nothing is missing; a run that is archived during the
backup is in it twice.

pg_dump and pg_restore must be of a version that fits the server. They get the database password in
their environment, not on their command line.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from msgspec import Struct

from accord import __version__
from accord.app.backup import archive as manifests
from accord.app.backup.archive import (
    BackupError,
    Manifest,
    Progress,
    measure_file,
    no_progress,
    write_archive,
)
from accord.app.runtime import RUN_ARCHIVE_FOLDER
from accord.app.settings import Settings
from accord.operations.audit.trail import HEAD_FILE_NAME as HEAD_FILE
from accord.operations.auth.server_key import (
    KEY_FILE,
    KEY_VARIABLE,
    ServerKey,
    ServerKeyError,
    load_key,
    stored_fingerprint,
)
from accord.store import open_store
from accord.store.catalog import ALL_APPLIED, EXISTS, EXPORT_SNAPSHOT, NO_IDLE_TIMEOUT
from accord.store.sqlite import copy_sqlite
from accord.store.store import Engine, ReadTransaction, StoreUnavailableError


class DatabaseFacts(Struct, frozen=True):
    """Migrations and key fingerprint of a database."""

    migrations: dict[str, dict[int, str]]
    key_fingerprint: str


async def read_database_facts(db: ReadTransaction, engine: Engine) -> DatabaseFacts:
    """Return the facts for the manifest.

    Raises BackupError for a database that is not Accord's, and StoreError if it cannot be read or
    is still being created.
    """
    if not await db.fetch(EXISTS[engine]):
        raise BackupError("the database is empty: there is nothing to back up")
    found: dict[str, dict[int, str]] = {}
    for row in await db.fetch(ALL_APPLIED):
        found.setdefault(row["part"], {})[row["number"]] = row["name"]
    if "operations" not in found:
        raise BackupError("the database is none of Accord: there is nothing to back up")
    fingerprint = await stored_fingerprint(db)
    if fingerprint is None:
        raise StoreUnavailableError("the database is just being made: try again in a moment")
    return DatabaseFacts(found, fingerprint)


StagedFiles = dict[str, Path]
"""Copied files that go into a backup, by their names in the backup."""


class BackupResult(Struct, frozen=True):
    """A completed backup."""

    file: str
    size: int
    """The size of the file, in bytes."""
    manifest: Manifest


async def take_backup(
    settings: Settings,
    target: Path,
    *,
    settings_file: Path | None = None,
    with_key: bool = True,
    progress: Progress = no_progress,
) -> BackupResult:
    """Write a backup to `target`, which is a file or a folder.

    In a folder, the backup is a new file that is named after the time. The file appears only once
    it is complete, and only its owner can read it. Raises BackupError, StoreError and OSError.
    """
    now = datetime.now(UTC)
    target = _new_file(target, now)
    with _folder_beside(target) as folder:
        staged = _stage_file(Path(settings.data) / HEAD_FILE, folder, manifests.AUDIT_HEAD_MEMBER)
        about = await _copy_database(settings, folder, progress)
        staged[manifests.DATABASE_FILES[about.engine]] = about.file
        staged |= _stage_key(settings, folder, about.facts) if with_key else {}
        staged |= _stage_settings(settings_file, folder, with_key=with_key)
        staged |= _stage_runs(Path(settings.data) / RUN_ARCHIVE_FOLDER, folder)
        finish = partial(_write, folder, target, now, about, staged, progress)
        return await asyncio.to_thread(finish)


def _new_file(target: Path, now: datetime) -> Path:
    if target.is_dir():
        target /= now.strftime("accord-%Y-%m-%dT%H-%M-%SZ.tar.gz")
    if target.exists():
        raise BackupError(f"there is a file {target} already: name another one")
    return target


class _DatabaseCopy(Struct, frozen=True):
    """The copy of a database."""

    file: Path
    engine: Engine
    version: int
    schema: str
    facts: DatabaseFacts


def _write(
    folder: Path,
    target: Path,
    now: datetime,
    about: _DatabaseCopy,
    staged: StagedFiles,
    progress: Progress,
) -> BackupResult:
    manifest = Manifest(
        format=manifests.MANIFEST_FORMAT,
        release=__version__,
        created_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        engine=about.engine,
        engine_version=about.version,
        schema=about.schema,
        key_fingerprint=about.facts.key_fingerprint,
        migrations=about.facts.migrations,
        members=tuple(measure_file(name, path) for name, path in staged.items()),
    )
    whole = folder / target.name
    write_archive(whole, manifest, list(staged.values()), progress=progress)
    whole.rename(target)
    _sync(target.parent)
    return BackupResult(str(target), target.stat().st_size, manifest)


async def _copy_database(settings: Settings, folder: Path, progress: Progress) -> _DatabaseCopy:
    if not settings.is_shared:
        return await _copy_sqlite(settings.database_url, folder, progress)
    target = folder / manifests.DATABASE_FILES["postgresql"]

    async def work(db: ReadTransaction) -> _DatabaseCopy:
        found = await read_database_facts(db, "postgresql")
        await db.fetch(NO_IDLE_TIMEOUT)
        [row] = await db.fetch(EXPORT_SNAPSHOT)
        schema, major = row["schema"], row["major"]
        await dump_postgres(
            settings.database_url, target, schema=schema, snapshot=row["snapshot"], major=major
        )
        return _DatabaseCopy(target, "postgresql", major, schema, found)

    async with open_store(settings.database_url) as store:
        return await store.read(work, snapshot=True)


async def _copy_sqlite(url: str, folder: Path, progress: Progress) -> _DatabaseCopy:
    source, target = _database_path(url), folder / manifests.DATABASE_FILES["sqlite"]
    await asyncio.to_thread(partial(copy_sqlite, source, target, progress=progress))
    async with open_store(f"sqlite://{target.absolute()}") as store:
        found = await store.read(lambda db: read_database_facts(db, "sqlite"))
    return _DatabaseCopy(target, "sqlite", sqlite3.sqlite_version_info[0], "", found)


def _database_path(url: str) -> Path:
    path = Path(unquote(urlsplit(url).path))
    if not path.is_file():
        raise BackupError(f"there is no database at {path}")
    return path


def _stage_key(settings: Settings, folder: Path, found: DatabaseFacts) -> StagedFiles:
    """Copy the server key, which must be the database's, into the staging folder."""
    target = folder / manifests.KEY_MEMBER
    if settings.is_shared:
        _write_private(target, settings.secret_key.encode())
        make = partial(load_key, None, {KEY_VARIABLE: settings.secret_key})
    else:
        if not _stage_file(Path(settings.data) / KEY_FILE, folder, manifests.KEY_MEMBER):
            raise BackupError(f"there is no server key in {settings.data}")
        make = partial(load_key, folder, {})
    _check_key(make, found)
    return {manifests.KEY_MEMBER: target}


def _check_key(make: Callable[[], ServerKey], found: DatabaseFacts) -> None:
    try:
        fingerprint = make().fingerprint
    except ServerKeyError as error:
        raise BackupError(f"{error}; or leave it out (--without-key)") from None
    if fingerprint != found.key_fingerprint:
        raise BackupError(
            f"the database belongs to another server key (fingerprint {found.key_fingerprint}, "
            f"this one is {fingerprint}): give it, or leave it out (--without-key)"
        )


def _stage_settings(file: Path | None, folder: Path, *, with_key: bool) -> StagedFiles:
    """Copy the settings file, unless it contains a key and `with_key` is false."""
    if file is None or not file.is_file():
        return {}
    if not with_key and "secret_key" in tomllib.loads(file.read_text(encoding="utf-8")):
        return {}
    return _stage_file(file, folder, manifests.SETTINGS_MEMBER)


def _stage_runs(source: Path, folder: Path) -> StagedFiles:
    """Copy archived runs: complete lines only, as files may be growing."""
    staged: StagedFiles = {}
    for file in sorted(source.glob("runs-????-??.jsonl")):
        staged |= _stage_file(file, folder, f"{manifests.RUNS_PREFIX}{file.name}")
    for copy in staged.values():
        with copy.open("rb+") as lines:
            lines.truncate(_end_of_lines(copy))
    return staged


def _end_of_lines(path: Path) -> int:
    """Return the offset after the last complete line of a file."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def _stage_file(source: Path, folder: Path, name: str) -> StagedFiles:
    """Copy a file into the staging folder, if the file exists."""
    target = folder / name
    try:
        with source.open("rb") as file:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as copy:
                shutil.copyfileobj(file, copy)
    except FileNotFoundError:
        return {}
    return {name: target}


def _write_private(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Provide a temporary private folder beside `target`, on the same disk."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _sync(folder: Path) -> None:
    """Write the directory entries of a folder to the disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


DEBIAN_PROGRAM: Final = "/usr/lib/postgresql/{major}/bin/{program}"
"""The path of each version's programs on Debian and Ubuntu."""
MAX_MESSAGE: Final = 500
"""Maximum number of characters quoted from the error output of a program."""

_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")


async def dump_postgres(url: str, target: Path, *, schema: str, snapshot: str, major: int) -> None:
    """Dump a schema as of `snapshot`, in the custom format of pg_dump.

    Raises BackupError if pg_dump is missing, too old or fails.
    """
    await _run_program(
        _program("pg_dump", major),
        url,
        *("--format=custom", "--compress=0", "--no-owner", "--no-privileges"),
        *(f"--schema={_schema_pattern(schema)}", f"--snapshot={snapshot}", f"--file={target}"),
    )


async def load_postgres(url: str, source: Path, *, schema: str, major: int) -> None:
    """Load a dump into an empty schema, in one transaction.

    Raises BackupError if pg_restore is missing, too old or fails.
    """
    await _run_program(
        _program("pg_restore", major),
        url,
        *("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"),
        *(f"--schema={schema}", str(source)),
    )


def _program(name: str, major: int) -> str:
    """Return a program that works with a server of this version.

    Raises BackupError if there is none.
    """
    advice = f"install it (Debian and Ubuntu: apt install postgresql-client-{major})"
    exact = DEBIAN_PROGRAM.format(major=major, program=name)
    found = exact if os.access(exact, os.X_OK) else shutil.which(name)
    if found is None:
        raise BackupError(f"{name} {major} or newer is needed, and is not there: {advice}")
    output = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    version = _VERSION.search(output.stdout)
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
        _, output = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        last = " ".join(output.decode(errors="replace").split())[-MAX_MESSAGE:]
        raise BackupError(f"{Path(program).name} failed: {last or process.returncode}")


def _without_password(url: str) -> tuple[str, str]:
    """Return the URL without its password, and the password."""
    parts = urlsplit(url)
    user_info, _, where = parts.netloc.rpartition("@")
    user, _, password = user_info.partition(":")
    query = parse_qsl(parts.query, keep_blank_values=True)
    password = unquote(password) or dict(query).get("password", "")
    other_fields = urlencode(
        [(name, value) for name, value in query if name != "password"], quote_via=quote
    )
    netloc = f"{user}@{where}" if user_info else where
    return f"postgresql://{netloc}{parts.path}" + (
        f"?{other_fields}" if other_fields else ""
    ), password


def _schema_pattern(schema: str) -> str:
    """Return a pattern of pg_dump that matches this schema only."""
    return '"' + schema.replace('"', '""') + '"'
