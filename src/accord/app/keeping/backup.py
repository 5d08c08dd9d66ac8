"""Takes a backup of an installation, whose server may run meanwhile.

The order matters. The head of the audit trail is read before the database, which only goes on from
there; archived runs are copied after it, since a run is in a file before it leaves the database. So
nothing is missing, and a run that was archived just then is there twice.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from accord import __version__
from accord.app.keeping import manifest as manifests
from accord.app.keeping.archive import Progress, measured, silent, write_archive
from accord.app.keeping.errors import KeepingError
from accord.app.keeping.facts import Facts, facts
from accord.app.keeping.manifest import Manifest
from accord.app.keeping.postgres_programs import dump
from accord.app.old_runs import FOLDER
from accord.app.settings import Settings
from accord.operations.accounts.server_key import (
    KEY_FILE,
    KEY_VARIABLE,
    ServerKey,
    ServerKeyError,
    load_key,
)
from accord.operations.audit.head_file import NAME as HEAD_FILE
from accord.store import open_store
from accord.store.catalog import EXPORT_SNAPSHOT, NO_IDLE_TIMEOUT
from accord.store.sqlite import copy_sqlite
from accord.store.store import Engine, Reading

Staged = dict[str, Path]
"""The files of a backup, by the names that they will have in it."""


class Taken(Struct, frozen=True):
    """A backup that was taken."""

    file: str
    size: int
    """Of the file, in bytes."""
    manifest: Manifest


async def take_backup(
    settings: Settings,
    target: Path,
    *,
    settings_file: Path | None = None,
    with_key: bool = True,
    progress: Progress = silent,
) -> Taken:
    """Write a backup to the file `target`, or to one named by the time in the folder `target`. It
    is there completely or not at all, and only its owner can read it. Raises KeepingError,
    StoreError and OSError."""
    now = datetime.now(UTC)
    target = _new_file(target, now)
    with _folder_beside(target) as folder:
        staged = _copied(Path(settings.data) / HEAD_FILE, folder, manifests.HEAD)
        about = await _database(settings, folder, progress)
        staged[manifests.DATABASE[about.engine]] = about.file
        staged |= _key(settings, folder, about.facts) if with_key else {}
        staged |= _settings(settings_file, folder, with_key=with_key)
        staged |= _old_runs(Path(settings.data) / FOLDER, folder)
        finish = partial(_write, folder, target, now, about, staged, progress)
        return await asyncio.to_thread(finish)


def _new_file(target: Path, now: datetime) -> Path:
    if target.is_dir():
        target /= now.strftime("accord-%Y-%m-%dT%H-%M-%SZ.tar.gz")
    if target.exists():
        raise KeepingError(f"there is a file {target} already: name another one")
    return target


class _Database(Struct, frozen=True):
    """A database that was copied."""

    file: Path
    engine: Engine
    version: int
    schema: str
    facts: Facts


def _write(
    folder: Path, target: Path, now: datetime, about: _Database, staged: Staged, progress: Progress
) -> Taken:
    manifest = Manifest(
        format=manifests.FORMAT,
        release=__version__,
        created_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        engine=about.engine,
        engine_version=about.version,
        schema=about.schema,
        key_fingerprint=about.facts.key_fingerprint,
        migrations=about.facts.migrations,
        members=tuple(measured(name, path) for name, path in staged.items()),
    )
    whole = folder / target.name
    write_archive(whole, manifest, list(staged.values()), progress=progress)
    whole.rename(target)
    _sync(target.parent)
    return Taken(str(target), target.stat().st_size, manifest)


async def _database(settings: Settings, folder: Path, progress: Progress) -> _Database:
    if not settings.is_shared:
        return await _sqlite(settings.database_url, folder, progress)
    target = folder / manifests.DATABASE["postgresql"]

    async def work(db: Reading) -> _Database:
        found = await facts(db, "postgresql")
        await db.fetch(NO_IDLE_TIMEOUT)
        [row] = await db.fetch(EXPORT_SNAPSHOT)
        schema, major = row["schema"], row["major"]
        await dump(
            settings.database_url, target, schema=schema, snapshot=row["snapshot"], major=major
        )
        return _Database(target, "postgresql", major, schema, found)

    async with open_store(settings.database_url) as store:
        return await store.read(work, snapshot=True)


async def _sqlite(url: str, folder: Path, progress: Progress) -> _Database:
    source, target = _existing(url), folder / manifests.DATABASE["sqlite"]
    await asyncio.to_thread(partial(copy_sqlite, source, target, progress=progress))
    async with open_store(f"sqlite://{target.absolute()}") as store:
        found = await store.read(lambda db: facts(db, "sqlite"))
    return _Database(target, "sqlite", sqlite3.sqlite_version_info[0], "", found)


def _existing(url: str) -> Path:
    path = Path(unquote(urlsplit(url).path))
    if not path.is_file():
        raise KeepingError(f"there is no database at {path}")
    return path


def _key(settings: Settings, folder: Path, found: Facts) -> Staged:
    """The server key, which must be the one that the database belongs to."""
    target = folder / manifests.KEY
    if settings.is_shared:
        _keep(target, settings.secret_key.encode())
        make = partial(load_key, None, {KEY_VARIABLE: settings.secret_key})
    else:
        if not _copied(Path(settings.data) / KEY_FILE, folder, manifests.KEY):
            raise KeepingError(f"there is no server key in {settings.data}")
        make = partial(load_key, folder, {})
    _check_key(make, found)
    return {manifests.KEY: target}


def _check_key(make: Callable[[], ServerKey], found: Facts) -> None:
    try:
        fingerprint = make().fingerprint
    except ServerKeyError as error:
        raise KeepingError(f"{error}; or leave it out (--without-key)") from None
    if fingerprint != found.key_fingerprint:
        raise KeepingError(
            f"the database belongs to another server key (fingerprint {found.key_fingerprint}, "
            f"this one is {fingerprint}): give it, or leave it out (--without-key)"
        )


def _settings(file: Path | None, folder: Path, *, with_key: bool) -> Staged:
    """The file with settings, unless it holds the key that is to be left out."""
    if file is None or not file.is_file():
        return {}
    if not with_key and "secret_key" in tomllib.loads(file.read_text(encoding="utf-8")):
        return {}
    return _copied(file, folder, manifests.SETTINGS)


def _old_runs(source: Path, folder: Path) -> Staged:
    """Files that grow at their end: whole lines of them."""
    staged: Staged = {}
    for file in sorted(source.glob("runs-????-??.jsonl")):
        staged |= _copied(file, folder, f"{manifests.RUNS}{file.name}")
    for copy in staged.values():
        with copy.open("rb+") as lines:
            lines.truncate(_end_of_lines(copy))
    return staged


def _end_of_lines(path: Path) -> int:
    """Where the last whole line of a file ends."""
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


def _copied(source: Path, folder: Path, name: str) -> Staged:
    """A copy of a file, where there is one."""
    target = folder / name
    try:
        with source.open("rb") as file:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as copy:
                shutil.copyfileobj(file, copy)
    except FileNotFoundError:
        return {}
    return {name: target}


def _keep(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """A folder on the same disk that nobody else can look into, for as long as it is needed."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
