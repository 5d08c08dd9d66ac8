"""Restore of an installation from a backup.

The whole backup is read and its hashes compared before anything of the installation is touched.
Then the database is migrated to this release and its audit trail verified; with SQLite all of that
happens in a staging folder, so a failure leaves the installation as it was. Existing files are
moved and existing schemas renamed, never removed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from accord.app.backup import archive as manifests
from accord.app.backup.archive import (
    Archive,
    BackupError,
    Manifest,
    Progress,
    no_progress,
    open_archive,
)
from accord.app.backup.backup import load_postgres
from accord.app.composition import data_checks
from accord.app.database import LOCK_FILE, MIGRATIONS, InUseError, lock_data_directory
from accord.app.runtime import AUDIT_PURPOSE
from accord.app.settings import Settings
from accord.operations.audit.record import Chain
from accord.operations.audit.trail import HEAD_FILE_NAME as HEAD_FILE, AuditTrail, read_head_file
from accord.operations.audit.verify import VerificationReport, verify
from accord.operations.auth.server_key import (
    KEY_FILE,
    KEY_VARIABLE,
    ServerKey,
    ServerKeyError,
    load_key,
)
from accord.store import Store, StoreError, open_store
from accord.store.catalog import (
    CURRENT_SCHEMA,
    FIRST_RELATION,
    OTHER_CONNECTIONS,
    SERVER_MAJOR,
    create_schema,
    drop_schema,
    migrations,
    pending_migrations,
    rename_schema,
)
from accord.store.store import Transaction

ASIDE_PREFIX: Final = "before-restore-"
"""The prefix of folders into which a restore moves the files that were there before."""
STAGE_PREFIX: Final = ".restore-"


class DataDirectory:
    """A locked data directory; new files are written to its folder `stage`."""

    def __init__(self, path: Path, stage: Path, *, fingerprint: str, force: bool) -> None:
        self.stage = stage
        self.path = path
        self._old = [each for each in path.iterdir() if not _is_ours(each.name)]
        key = path / KEY_FILE
        if key.exists() and _fingerprint(path) != fingerprint:
            self._old.append(key)
        if self._old and not force:
            raise BackupError(
                f"{path} is not empty, there is {self._old[0].name}: name another --data, or have "
                "what is there moved aside (--force)"
            )

    @property
    def has_key(self) -> bool:
        """Return True if the directory already contains the key that the backup needs."""
        key = self.path / KEY_FILE
        return key.exists() and key not in self._old

    def settle(self) -> Path | None:
        """Move old files aside and new files into the directory.

        Returns the folder with the old files, if there are any.
        """
        aside = self._move_aside() if self._old else None
        for new in self.stage.iterdir():
            new.rename(self.path / new.name)
        fd = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        return aside

    def _move_aside(self) -> Path:
        aside = self.path / f"{ASIDE_PREFIX}{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ}"
        aside.mkdir(mode=0o700)
        for old in self._old:
            old.rename(aside / old.name)
        return aside


@contextmanager
def claim_data_directory(path: Path, *, fingerprint: str, force: bool) -> Iterator[DataDirectory]:
    """Lock a data directory for a backup whose key has this fingerprint.

    At the end, new files that `DataDirectory.settle` did not move into the directory are removed.
    Raises BackupError if a server uses the directory, or if it is not empty and `force` is not
    given.
    """
    existed = path.exists()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_data_directory(path))
        except InUseError as error:
            raise BackupError(f"{error}: stop it first") from None
        stage = Path(tempfile.mkdtemp(prefix=STAGE_PREFIX, dir=path))
        try:
            yield DataDirectory(path, stage, fingerprint=fingerprint, force=force)
        finally:
            shutil.rmtree(stage)
            if not existed:
                _remove_if_unused(path)


def _remove_if_unused(path: Path) -> None:
    if [each.name for each in path.iterdir()] == [LOCK_FILE]:
        (path / LOCK_FILE).unlink()
        with suppress(OSError):
            path.rmdir()


def _is_ours(name: str) -> bool:
    return name in (KEY_FILE, LOCK_FILE) or name.startswith((ASIDE_PREFIX, STAGE_PREFIX))


def _fingerprint(path: Path) -> str:
    try:
        return load_key(path, {}).fingerprint
    except ServerKeyError:
        return ""


SECRET_FILE: Final = "secret-key"
"""The name of the file with the restored server key, used with PostgreSQL.

The operator copies the key from the file into the environment.
"""
RENAMED_SETTINGS: Final = "accord.toml.restored"
SPACE_FACTOR: Final = 1.1
"""The free disk space needed, as a multiple of the size of the backup."""


class RestoreResult(Struct, frozen=True, kw_only=True):
    """The outcome of a restore."""

    manifest: Manifest
    data: str
    migrated: list[str]
    """The migrations that were run after the restore."""
    audit: VerificationReport
    moved: list[str]
    """The new places of the files, or new name of the schema, that were there before."""
    notes: list[str]
    """Remaining tasks for the operator."""


async def check_backup(path: Path, *, progress: Progress = no_progress) -> Manifest:
    """Read a whole backup without restoring it.

    Raises BackupError if the backup is damaged or unusable, and OSError if it cannot be read.
    """
    with open_archive(path) as archive:
        await asyncio.to_thread(partial(archive.unpack, None, progress=progress))
        return archive.manifest


async def restore(
    path: Path, settings: Settings, *, force: bool = False, progress: Progress = no_progress
) -> RestoreResult:
    """Restore the backup `path` to the installation that `settings` name.

    An existing installation is refused, or moved aside with `force`. Raises BackupError, StoreError
    and OSError.
    """
    with open_archive(path) as archive:
        manifest = archive.manifest
        _check_fits(manifest, settings)
        with claim_data_directory(
            Path(settings.data), fingerprint=manifest.key_fingerprint, force=force
        ) as place:
            await _unpack(archive, place, progress)
            if settings.is_shared:
                return await _restore_postgres(manifest, settings, place, force=force)
            return await _restore_sqlite(manifest, settings, place)


async def _unpack(archive: Archive, place: DataDirectory, progress: Progress) -> None:
    needed = int(archive.manifest.size * SPACE_FACTOR)
    free = shutil.disk_usage(place.path).free
    if needed > free:
        raise BackupError(
            f"the backup needs {needed:,} bytes, and {free:,} are free in {place.path}"
        )
    await asyncio.to_thread(partial(archive.unpack, place.stage, progress=progress))


async def _restore_sqlite(
    manifest: Manifest, settings: Settings, place: DataDirectory
) -> RestoreResult:
    key = _key_of_file(manifest, place)
    notes = _place_settings(manifest, settings, place)
    database = (place.stage / manifests.DATABASE_FILES["sqlite"]).absolute()
    async with open_store(f"sqlite://{database}") as store:
        migrated, audit = await _finish(store, key, place)
    return _settle(manifest, place, notes, migrated=migrated, audit=audit)


async def _restore_postgres(
    manifest: Manifest, settings: Settings, place: DataDirectory, *, force: bool
) -> RestoreResult:
    key, notes = _key_of_environment(manifest, settings, place)
    notes += _place_settings(manifest, settings, place)
    dumped = place.stage / manifests.DATABASE_FILES["postgresql"]
    async with open_store(settings.database_url) as store:
        target = PostgresTarget(store, manifest.schema, manifest.engine_version)
        async with empty_schema(target, force=force) as aside:
            major = await target.major()
            await load_postgres(settings.database_url, dumped, schema=manifest.schema, major=major)
        dumped.unlink()
        migrated, audit = await _finish(store, key, place)
    moved = [f"the schema {aside} of the database"] if aside else []
    return _settle(manifest, place, notes, moved=moved, migrated=migrated, audit=audit)


def _settle(
    manifest: Manifest,
    place: DataDirectory,
    notes: list[str],
    *,
    migrated: list[str],
    audit: VerificationReport,
    moved: list[str] | None = None,
) -> RestoreResult:
    aside = place.settle()
    return RestoreResult(
        manifest=manifest,
        data=str(place.path),
        migrated=migrated,
        audit=audit,
        moved=[*(moved or []), *([str(aside)] if aside else [])],
        notes=notes,
    )


async def _finish(
    store: Store, key: ServerKey, place: DataDirectory
) -> tuple[list[str], VerificationReport]:
    """Migrate a restored database, seal pending records, and verify the audit trail."""
    migrated = []
    for part, folder in MIGRATIONS.items():
        pending = pending_migrations(
            migrations(folder, store.engine), await store.applied(part), part
        )
        await store.migrate(part, folder)
        migrated += [f"{each.number:04d}_{each.name} of {part}" for each in pending]
    try:
        await key.check(store)
    except ServerKeyError as error:
        raise BackupError(str(error)) from None
    secret, head_file = key.derive(AUDIT_PURPOSE), place.stage / HEAD_FILE
    anchor = read_head_file(head_file, Chain(secret))
    async with AuditTrail(store, secret, head_file=head_file):
        return migrated, await verify(
            store, secret, anchors=[anchor] if anchor else [], checks=data_checks()
        )


def _check_fits(manifest: Manifest, settings: Settings) -> None:
    """Raise BackupError if this release cannot restore the backup to this target."""
    if settings.database.startswith("sqlite"):
        raise BackupError("a backup is restored to a data directory: give --data, not --database")
    if settings.is_shared and manifest.engine == "sqlite":
        raise BackupError("this is a backup of SQLite: restore it without --database")
    if not settings.is_shared and manifest.engine == "postgresql":
        raise BackupError(
            "this is a backup of PostgreSQL: name an empty database (--database postgresql://…)"
        )
    for part, folder in MIGRATIONS.items():
        try:
            known = migrations(folder, manifest.engine)
            pending_migrations(known, manifest.migrations.get(part, {}), part)
        except StoreError as error:
            raise BackupError(
                f"this backup was taken by release {manifest.release}: {error}"
            ) from None


def _key_of_file(manifest: Manifest, place: DataDirectory) -> ServerKey:
    if not manifest.has(manifests.KEY_MEMBER) and not place.has_key:
        raise BackupError(
            f"this backup was taken without the server key: put the file {KEY_FILE!r} of the "
            f"installation into {place.path} first"
        )
    folder = place.stage if manifest.has(manifests.KEY_MEMBER) else place.path
    return _matching_key(manifest, partial(load_key, folder, {}))


def _key_of_environment(
    manifest: Manifest, settings: Settings, place: DataDirectory
) -> tuple[ServerKey, list[str]]:
    """Return the server key of an installation that has it in the environment.

    The key is that of the settings, or else that of the backup. Also returns notes for the operator
    on how to set it.
    """
    staged = place.stage / manifests.KEY_MEMBER
    if settings.secret_key:
        staged.unlink(missing_ok=True)
        environ = {KEY_VARIABLE: settings.secret_key}
        return _matching_key(manifest, partial(load_key, None, environ)), []
    if not manifest.has(manifests.KEY_MEMBER):
        raise BackupError(
            f"this backup was taken without the server key: set {KEY_VARIABLE} as it was"
        )
    text = staged.read_text(encoding="utf-8")
    staged.rename(place.stage / SECRET_FILE)
    note = f"set {KEY_VARIABLE} to what is in {place.path / SECRET_FILE}, and remove the file"
    return _matching_key(manifest, partial(load_key, None, {KEY_VARIABLE: text})), [note]


def _matching_key(manifest: Manifest, make: partial[ServerKey]) -> ServerKey:
    try:
        key = make()
    except (ServerKeyError, UnicodeDecodeError) as error:
        raise BackupError(str(error)) from None
    if key.fingerprint != manifest.key_fingerprint:
        raise BackupError(
            f"the backup belongs to another server key (fingerprint {manifest.key_fingerprint}, "
            f"this one is {key.fingerprint}): set {KEY_VARIABLE} as it was"
        )
    return key


def _place_settings(manifest: Manifest, settings: Settings, place: DataDirectory) -> list[str]:
    """Rename the restored settings file if it names another database than `settings`.

    No server then uses that database by mistake. Returns notes for the operator.
    """
    if not manifest.has(manifests.SETTINGS_MEMBER):
        return []
    staged = place.stage / manifests.SETTINGS_MEMBER
    try:
        named = tomllib.loads(staged.read_text(encoding="utf-8")).get("database", "")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        named = None
    if named == settings.database:
        return []
    staged.rename(place.stage / RENAMED_SETTINGS)
    return [
        f"the settings of the backup name another database: look at {place.path / RENAMED_SETTINGS}"
    ]


CLOSE_POLLS: Final = (25, 0.2)
"""The number of checks for connections still open, and the seconds between two."""


class PostgresTarget(Struct, frozen=True):
    """The schema into which a backup is restored."""

    store: Store
    schema: str
    from_major: int
    """The major version of PostgreSQL from which the backup was taken."""

    async def major(self) -> int:
        [row] = await self.store.fetch(SERVER_MAJOR)
        major: int = row["major"]
        return major

    async def check(self, *, force: bool) -> bool:
        """Return True if there are tables to move aside.

        Raises BackupError if the backup cannot be restored into this schema.
        """
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
    """Provide an empty schema to restore into; yield the new name of the old schema.

    The name is empty if there are no tables to move aside. A failure restores the old schema.
    Raises BackupError and StoreError.
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
