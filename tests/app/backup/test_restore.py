"""What restore refuses leaves everything as it was; what it replaces is moved aside, never removed."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from accord.app.backup.archive import (
    BackupError,
    DamagedBackupError,
    Manifest,
    Member,
    open_archive,
    write_archive,
)
from accord.app.backup.backup import take_backup
from accord.app.backup.restore import RestoreResult, check_backup, restore
from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from tests.app.backup import first
from tests.store.cluster import Cluster


async def make(settings: Settings, name: str) -> None:
    """An installation with one person more."""
    async with open_runtime(settings) as local:
        await local.run("create_user", username=name, role="User")


async def people(settings: Settings) -> list[str]:
    async with open_runtime(settings) as local:
        return [each.username for each in (await local.run("list_users")).result.items]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(data=str(tmp_path_factory.mktemp("original") / "data"))
    asyncio.run(make(settings, "tilda"))
    return settings


@pytest.fixture(scope="module")
def backup(original: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backups") / "backup.tar.gz"
    asyncio.run(take_backup(original, path))
    return path


def elsewhere(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "new"))


def cut(backup: Path, target: Path) -> None:
    """Half of a backup."""
    whole = backup.read_bytes()
    target.write_bytes(whole[: len(whole) // 2])


def lay_key(original: Settings, settings: Settings) -> None:
    """Put the key of one installation where another is to be."""
    os.mkdir(settings.data)
    key = Path(settings.data) / "key"
    key.write_bytes((Path(original.data) / "key").read_bytes())
    key.chmod(0o600)


def changed(backup: Path, target: Path, change: Callable[[Manifest], Manifest]) -> Path:
    """A backup with another manifest."""
    folder = target.parent / "members"
    folder.mkdir()
    with open_archive(backup) as archive:
        archive.unpack(folder)
        files = [folder / each.name for each in archive.manifest.members]
        write_archive(target, change(archive.manifest), files)
    return target


async def test_what_was_restored_is_all_there_and_is_told_of(backup: Path, tmp_path: Path) -> None:
    settings = elsewhere(tmp_path)
    restored = await restore(backup, settings)
    assert await people(settings) == ["tilda"]
    assert restored == RestoreResult(
        manifest=await check_backup(backup),
        data=settings.data,
        migrated=[],
        audit=restored.audit,
        moved=[],
        notes=[],
    )
    assert (restored.audit.findings, restored.audit.pending) == ((), 0)


async def test_a_backup_of_an_earlier_release_is_brought_up_to_this_one(tmp_path: Path) -> None:
    first.make_sqlite(tmp_path / "first")
    settings = elsewhere(tmp_path)
    await take_backup(Settings(data=str(tmp_path / "first")), tmp_path / "first.tar.gz")
    restored = await restore(tmp_path / "first.tar.gz", settings)
    assert {"0004_baseline_entities of hub", "0004_outbox of workflows"} <= set(restored.migrated)
    assert (restored.audit.findings, restored.audit.pending) == ((), 0)
    assert await people(settings) == ["admin", "nina"]


async def test_what_is_there_is_moved_aside_and_only_if_that_is_wanted(
    backup: Path, tmp_path: Path
) -> None:
    settings = elsewhere(tmp_path)
    await make(settings, "somebody")
    with pytest.raises(BackupError, match=r"is not empty, there is .*--force"):
        await restore(backup, settings)
    assert await people(settings) == ["somebody"]
    restored = await restore(backup, settings, force=True)
    assert await people(settings) == ["tilda"]
    [aside] = restored.moved
    assert await people(Settings(data=aside)) == ["somebody"]


async def test_a_directory_that_a_server_uses_is_left_alone(backup: Path, tmp_path: Path) -> None:
    settings = elsewhere(tmp_path)
    os.mkdir(settings.data)
    lock = os.open(f"{settings.data}/server.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BackupError, match=r"another server .*uses .*: stop it first"):
            await restore(backup, settings, force=True)
    finally:
        os.close(lock)
    assert os.listdir(settings.data) == ["server.lock"]


async def test_a_damaged_backup_leaves_nothing_behind(backup: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.tar.gz"
    cut(backup, damaged)
    with pytest.raises(DamagedBackupError, match="its end is missing"):
        await restore(damaged, elsewhere(tmp_path))
    assert os.listdir(tmp_path) == ["damaged.tar.gz"]


async def test_a_backup_of_a_newer_release_names_it(backup: Path, tmp_path: Path) -> None:
    newer = changed(
        backup,
        tmp_path / "newer.tar.gz",
        lambda was: replace(was, release="9.0.0", migrations={"hub": {99: "next"}}),
    )
    told = r"release 9\.0\.0: the database has migration 99 of hub \(next\)"
    with pytest.raises(BackupError, match=told):
        await restore(newer, elsewhere(tmp_path))
    assert not (tmp_path / "new").exists()


async def test_a_backup_that_the_disk_has_no_room_for_is_not_unpacked(
    backup: Path, tmp_path: Path
) -> None:
    huge = changed(
        backup,
        tmp_path / "huge.tar.gz",
        lambda was: replace(
            was, members=(Member("accord.db", 10**18, ""), *[each for each in was.members if each.name != "accord.db"])
        ),
    )  # fmt: skip
    with pytest.raises(BackupError, match=r"needs 1,100,000,000,.* bytes, and .* are free"):
        await restore(huge, elsewhere(tmp_path))
    assert not (tmp_path / "new").exists()


async def test_without_its_key_a_backup_waits_for_the_key(
    original: Settings, tmp_path: Path
) -> None:
    path, settings = tmp_path / "keyless.tar.gz", elsewhere(tmp_path)
    taken = await take_backup(original, path, with_key=False)
    assert not taken.manifest.has("key")
    with pytest.raises(BackupError, match="without the server key: put the file 'key'"):
        await restore(path, settings)
    lay_key(original, settings)
    await restore(path, settings)
    assert await people(settings) == ["tilda"]


async def test_settings_that_name_another_database_are_laid_beside(
    original: Settings, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text('database = "postgresql://db/production"\n')
    path, settings = tmp_path / "backup.tar.gz", elsewhere(tmp_path)
    await take_backup(original, path, settings_file=tmp_path / "own.toml")
    restored = await restore(path, settings)
    laid = Path(settings.data) / "accord.toml.restored"
    assert restored.notes == [f"the settings of the backup name another database: look at {laid}"]
    assert laid.read_text() == 'database = "postgresql://db/production"\n'
    assert not (Path(settings.data) / "accord.toml").exists()


async def test_archived_runs_are_taken_in_whole_lines(original: Settings, tmp_path: Path) -> None:
    folder = Path(original.data) / "archive"
    folder.mkdir(exist_ok=True)
    (folder / "runs-2026-01.jsonl").write_text('{"id":1}\n{"id":2}\n{"id"')
    path, settings = tmp_path / "backup.tar.gz", elsewhere(tmp_path)
    await take_backup(original, path)
    await restore(path, settings)
    restored = Path(settings.data) / "archive" / "runs-2026-01.jsonl"
    assert restored.read_text() == '{"id":1}\n{"id":2}\n'


async def test_a_backup_is_there_whole_or_not_at_all(original: Settings, tmp_path: Path) -> None:
    path = tmp_path / "backup.tar.gz"

    def interrupt(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await take_backup(original, path, progress=interrupt)
    assert os.listdir(tmp_path) == []
    await take_backup(original, path)
    before = path.read_bytes()
    with pytest.raises(BackupError, match=r"there is a file .* already"):
        await take_backup(original, path)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["backup.tar.gz"])


async def test_tables_of_postgresql_are_moved_aside(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (
        Settings(data=str(tmp_path / name), database=cluster.database(), secret_key="k" * 64)
        for name in ("old", "new")
    )
    await make(old, "tilda")
    await make(new, "somebody")
    backup = tmp_path / "backup.tar.gz"
    await take_backup(old, backup)
    with pytest.raises(BackupError, match="this is a backup of PostgreSQL: name an empty"):
        await restore(backup, elsewhere(tmp_path))
    with pytest.raises(BackupError, match="belongs to another server key"):
        await restore(backup, replace(new, data=str(tmp_path / "x"), secret_key="o" * 64))
    with pytest.raises(BackupError, match="the database is not empty, there is"):
        await restore(backup, replace(new, data=str(tmp_path / "x")))
    assert await people(new) == ["somebody"]
    restored = await restore(backup, replace(new, secret_key=""), force=True)
    assert await people(new) == ["tilda"]
    assert restored.moved[0].startswith("the schema before_restore_")
    assert (tmp_path / "new" / "secret-key").read_text() == "k" * 64
    monkeypatch.setattr("accord.app.backup.backup.DEBIAN_PROGRAM", "/nowhere")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackupError, match=r"pg_dump \d+ or newer is needed, and is not there"):
        await take_backup(old, tmp_path / "other.tar.gz")
