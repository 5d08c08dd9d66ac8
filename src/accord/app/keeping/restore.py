"""Makes an installation of a backup.

All of the backup is read and its hashes compared before anything of the installation is touched.
Then the database is brought up to this release and its audit trail looked at; with SQLite all of
that happens beside what is there, so that whatever goes wrong leaves it as it was.
"""

from __future__ import annotations

import asyncio
import shutil
import tomllib
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from accord.app.composition import data_checks
from accord.app.keeping import manifest as manifests
from accord.app.keeping.archive import Archive, Progress, open_archive, silent
from accord.app.keeping.data_directory import DataDirectory, taking_over
from accord.app.keeping.errors import KeepingError
from accord.app.keeping.manifest import Manifest
from accord.app.keeping.postgres_place import PostgresPlace, emptied
from accord.app.keeping.postgres_programs import load
from accord.app.local import AUDIT_PURPOSE
from accord.app.parts import PARTS
from accord.app.settings import Settings
from accord.operations.accounts.server_key import (
    KEY_FILE,
    KEY_VARIABLE,
    ServerKey,
    ServerKeyError,
    load_key,
)
from accord.operations.audit.chain import Chain
from accord.operations.audit.head_file import NAME as HEAD_FILE, read_head_file
from accord.operations.audit.trail import AuditTrail
from accord.operations.audit.verify import Report, verify
from accord.store import Store, StoreError, open_store
from accord.store.migrations import migrations, missing

SECRET_FILE: Final = "secret-key"
"""Where the server key is left for whoever has to put it into the environment."""
OTHER_SETTINGS: Final = "accord.toml.restored"
ROOM: Final = 1.1
"""How much more than the backup has must be free on the disk."""


class Restored(Struct, frozen=True, kw_only=True):
    """What was done."""

    manifest: Manifest
    data: str
    migrated: list[str]
    """The migrations that were run."""
    audit: Report
    moved: list[str]
    """Where that is which was there before."""
    notes: list[str]
    """What is left to do."""


async def check_backup(path: Path, *, progress: Progress = silent) -> Manifest:
    """Read all of a backup, and touch nothing. Raises KeepingError and OSError."""
    with open_archive(path) as archive:
        await asyncio.to_thread(partial(archive.unpack, None, progress=progress))
        return archive.manifest


async def restore(
    path: Path, settings: Settings, *, force: bool = False, progress: Progress = silent
) -> Restored:
    """Make the installation that `settings` name of the backup `path`; one that is there already is
    moved aside with `force`. Raises KeepingError, StoreError and OSError."""
    with open_archive(path) as archive:
        manifest = archive.manifest
        _check_fits(manifest, settings)
        with taking_over(
            Path(settings.data), fingerprint=manifest.key_fingerprint, force=force
        ) as place:
            await _unpack(archive, place, progress)
            if settings.is_shared:
                return await _restore_postgres(manifest, settings, place, force=force)
            return await _restore_sqlite(manifest, settings, place)


async def _unpack(archive: Archive, place: DataDirectory, progress: Progress) -> None:
    needed = int(archive.manifest.size * ROOM)
    free = shutil.disk_usage(place.path).free
    if needed > free:
        raise KeepingError(
            f"the backup needs {needed:,} bytes, and {free:,} are free in {place.path}"
        )
    await asyncio.to_thread(partial(archive.unpack, place.stage, progress=progress))


async def _restore_sqlite(manifest: Manifest, settings: Settings, place: DataDirectory) -> Restored:
    key = _key_of_file(manifest, place)
    notes = _place_settings(manifest, settings, place)
    database = (place.stage / manifests.DATABASE["sqlite"]).absolute()
    async with open_store(f"sqlite://{database}") as store:
        migrated, audit = await _finish(store, key, place)
    return _settled(manifest, place, notes, migrated=migrated, audit=audit)


async def _restore_postgres(
    manifest: Manifest, settings: Settings, place: DataDirectory, *, force: bool
) -> Restored:
    key, notes = _key_of_environment(manifest, settings, place)
    notes += _place_settings(manifest, settings, place)
    dumped = place.stage / manifests.DATABASE["postgresql"]
    async with open_store(settings.database_url) as store:
        target = PostgresPlace(store, manifest.schema, manifest.engine_version)
        async with emptied(target, force=force) as aside:
            major = await target.major()
            await load(settings.database_url, dumped, schema=manifest.schema, major=major)
        dumped.unlink()
        migrated, audit = await _finish(store, key, place)
    moved = [f"the schema {aside} of the database"] if aside else []
    return _settled(manifest, place, notes, moved=moved, migrated=migrated, audit=audit)


def _settled(
    manifest: Manifest,
    place: DataDirectory,
    notes: list[str],
    *,
    migrated: list[str],
    audit: Report,
    moved: list[str] | None = None,
) -> Restored:
    aside = place.settle()
    return Restored(
        manifest=manifest,
        data=str(place.path),
        migrated=migrated,
        audit=audit,
        moved=[*(moved or []), *([str(aside)] if aside else [])],
        notes=notes,
    )


async def _finish(store: Store, key: ServerKey, place: DataDirectory) -> tuple[list[str], Report]:
    """Bring a database up to this release, seal what was about to be sealed when the backup was
    taken, and look at the trail."""
    migrated = []
    for part, folder in PARTS.items():
        pending = missing(migrations(folder, store.engine), await store.applied(part), part)
        await store.migrate(part, folder)
        migrated += [f"{each.number:04d}_{each.name} of {part}" for each in pending]
    try:
        await key.check(store)
    except ServerKeyError as error:
        raise KeepingError(str(error)) from None
    secret, head_file = key.derive(AUDIT_PURPOSE), place.stage / HEAD_FILE
    kept = read_head_file(head_file, Chain(secret))
    async with AuditTrail(store, secret, head_file=head_file):
        return migrated, await verify(
            store, secret, anchors=[kept] if kept else [], checks=data_checks()
        )


def _check_fits(manifest: Manifest, settings: Settings) -> None:
    """Raises KeepingError where this release cannot restore a backup to where it is to go."""
    if settings.database.startswith("sqlite"):
        raise KeepingError("a backup is restored to a data directory: give --data, not --database")
    if settings.is_shared and manifest.engine == "sqlite":
        raise KeepingError("this is a backup of SQLite: restore it without --database")
    if not settings.is_shared and manifest.engine == "postgresql":
        raise KeepingError(
            "this is a backup of PostgreSQL: name an empty database (--database postgresql://…)"
        )
    for part, folder in PARTS.items():
        try:
            known = migrations(folder, manifest.engine)
            missing(known, manifest.migrations.get(part, {}), part)
        except StoreError as error:
            raise KeepingError(
                f"this backup was taken by release {manifest.release}: {error}"
            ) from None


def _key_of_file(manifest: Manifest, place: DataDirectory) -> ServerKey:
    if not manifest.has(manifests.KEY) and not place.has_key:
        raise KeepingError(
            f"this backup was taken without the server key: put the file {KEY_FILE!r} of the "
            f"installation into {place.path} first"
        )
    folder = place.stage if manifest.has(manifests.KEY) else place.path
    return _matching(manifest, partial(load_key, folder, {}))


def _key_of_environment(
    manifest: Manifest, settings: Settings, place: DataDirectory
) -> tuple[ServerKey, list[str]]:
    """The key, and what is to be done about it."""
    staged = place.stage / manifests.KEY
    if settings.secret_key:
        staged.unlink(missing_ok=True)
        given = {KEY_VARIABLE: settings.secret_key}
        return _matching(manifest, partial(load_key, None, given)), []
    if not manifest.has(manifests.KEY):
        raise KeepingError(
            f"this backup was taken without the server key: set {KEY_VARIABLE} as it was"
        )
    text = staged.read_text(encoding="utf-8")
    staged.rename(place.stage / SECRET_FILE)
    note = f"set {KEY_VARIABLE} to what is in {place.path / SECRET_FILE}, and remove the file"
    return _matching(manifest, partial(load_key, None, {KEY_VARIABLE: text})), [note]


def _matching(manifest: Manifest, make: partial[ServerKey]) -> ServerKey:
    try:
        key = make()
    except (ServerKeyError, UnicodeDecodeError) as error:
        raise KeepingError(str(error)) from None
    if key.fingerprint != manifest.key_fingerprint:
        raise KeepingError(
            f"the backup belongs to another server key (fingerprint {manifest.key_fingerprint}, "
            f"this one is {key.fingerprint}): set {KEY_VARIABLE} as it was"
        )
    return key


def _place_settings(manifest: Manifest, settings: Settings, place: DataDirectory) -> list[str]:
    """Keep settings from naming another database than the one that was restored: a server would
    go on with the old one."""
    if not manifest.has(manifests.SETTINGS):
        return []
    staged = place.stage / manifests.SETTINGS
    try:
        named = tomllib.loads(staged.read_text(encoding="utf-8")).get("database", "")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        named = None
    if named == settings.database:
        return []
    staged.rename(place.stage / OTHER_SETTINGS)
    return [
        f"the settings of the backup name another database: look at {place.path / OTHER_SETTINGS}"
    ]
