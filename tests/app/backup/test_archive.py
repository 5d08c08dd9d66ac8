"""A backup is read completely before it is believed, and refused where anything is not as written."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from accord.app.backup import archive as manifests
from accord.app.backup.archive import (
    BackupError,
    DamagedBackupError,
    Manifest,
    Member,
    measure_file,
    open_archive,
    write_archive,
)

CONTENT = {
    "audit-head": b"1:2",
    "accord.db": bytes(range(256)) * 20,
    "archive/runs-2026-01.jsonl": b"",
}


def about(*members: Member, format: int = manifests.MANIFEST_FORMAT) -> Manifest:
    return Manifest(
        format=format,
        release="0.1.0",
        created_at="2026-01-02T03:04:05Z",
        engine="sqlite",
        engine_version=3,
        schema="",
        key_fingerprint="0123456789abcdef",
        migrations={"operations": {1: "operations"}},
        members=members,
    )


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backup")
    files = []
    for number, data in enumerate(CONTENT.values()):
        files.append(folder / str(number))
        files[-1].write_bytes(data)
    members = [measure_file(name, path) for name, path in zip(CONTENT, files, strict=True)]
    write_archive(folder / "backup.tar.gz", about(*members), files)
    return folder / "backup.tar.gz"


def unpacked(path: Path, folder: Path) -> dict[str, bytes]:
    with open_archive(path) as archive:
        folder.mkdir(exist_ok=True)
        archive.unpack(folder)
        return {each.name: (folder / each.name).read_bytes() for each in archive.manifest.members}


def is_refused(path: Path) -> bool:
    """Whether it is found out that a file is not as it was written."""
    try:
        with open_archive(path) as archive:
            archive.unpack(None)
    except DamagedBackupError:
        return True
    return False


def test_what_was_written_is_read_again_and_nobody_else_can_read_it(
    backup: Path, tmp_path: Path
) -> None:
    assert unpacked(backup, tmp_path) == CONTENT
    modes = {path.stat().st_mode & 0o777 for path in (backup, tmp_path / "accord.db")}
    assert modes == {0o600}


def test_any_tar_program_unpacks_it(backup: Path) -> None:
    with tarfile.open(backup) as tar:
        assert tar.getnames() == ["manifest.json", *CONTENT]


def test_no_byte_of_the_file_changes_unseen(backup: Path, tmp_path: Path) -> None:
    whole, damaged = backup.read_bytes(), tmp_path / "damaged.tar.gz"
    # Some bits mean nothing, such as the time in the header of gzip (RFC 1952, section 2.3).
    for place in (*range(0, len(whole), 3), *range(len(whole) - 8, len(whole))):
        changed = bytearray(whole)
        changed[place] ^= 0x10
        damaged.write_bytes(changed)
        assert is_refused(damaged) or unpacked(damaged, tmp_path / str(place)) == CONTENT, place


def test_no_byte_of_what_is_in_it_changes_unseen(backup: Path, tmp_path: Path) -> None:
    """Also where somebody computes the checksum of the compression anew."""
    whole, damaged = gzip.decompress(backup.read_bytes()), tmp_path / "damaged.tar.gz"
    beginning = tarfile.BLOCKSIZE
    manifest = range(beginning, beginning + tarfile.TarInfo.frombuf(whole[:512], "ascii", "").size)
    for place in (*manifest[::3], *range(manifest.stop, len(whole), 97)):
        changed = bytearray(whole)
        changed[place] ^= 0x01
        damaged.write_bytes(gzip.compress(changed, 1))
        header = place % 512 if whole[place - place % 512 + 257 :][:5] == b"ustar" else None
        assert is_refused(damaged) or header is not None, place


def test_no_end_of_it_goes_missing_unseen(backup: Path, tmp_path: Path) -> None:
    whole, cut = backup.read_bytes(), tmp_path / "cut.tar.gz"
    for length in (*range(0, len(whole), 7), len(whole) - 1):
        cut.write_bytes(whole[:length])
        assert is_refused(cut), length
    cut.write_bytes(whole + b"more")
    assert is_refused(cut)
    cut.write_bytes(whole + gzip.compress(b"more"))
    assert is_refused(cut)


def tar_with(*infos: tarfile.TarInfo, data: bytes = b"") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for info in infos:
            tar.addfile(info, io.BytesIO(data[: info.size]))
    return out.getvalue()


def manifest_info(data: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(manifests.MANIFEST_FILE)
    info.size = len(data)
    return info


def linked(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(manifests.MANIFEST_FILE)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


def large() -> tarfile.TarInfo:
    info = tarfile.TarInfo(manifests.MANIFEST_FILE)
    info.size = manifests.MAX_MANIFEST_BYTES + 1
    return info


def hostile() -> Iterator[tuple[str, Callable[[], bytes]]]:
    for name in ("../accord.db", "/etc/passwd", "archive/../../x", "archive/runs-2026-01.jsonl/x"):
        data = manifests.encode_manifest(about(Member(name, 1, "")))
        yield name, partial(tar_with, manifest_info(data), data=data)
    twice = manifests.encode_manifest(about(*[Member("accord.db", 0, "")] * 2))
    yield "twice", lambda: tar_with(manifest_info(twice), data=twice)
    negative = manifests.encode_manifest(about(Member("accord.db", -1, "")))
    yield "less than nothing", lambda: tar_with(manifest_info(negative), data=negative)
    none = manifests.encode_manifest(about())
    yield "no database", lambda: tar_with(manifest_info(none), data=none)
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE):
        yield f"type {kind.decode()}", partial(tar_with, linked(kind))
    yield (
        "a manifest without end",
        lambda: tar_with(large(), data=bytes(manifests.MAX_MANIFEST_BYTES + 1)),
    )
    yield "nothing", tar_with
    yield "text", lambda: b"hello"
    yield "empty", lambda: b""


@pytest.mark.parametrize(
    ("name", "make"), list(hostile()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_file_of_somebody_else_is_refused(
    tmp_path: Path, name: str, make: Callable[[], bytes]
) -> None:
    (tmp_path / "hostile.tar.gz").write_bytes(make())
    with pytest.raises(DamagedBackupError, match="is no backup, or is damaged"):
        unpacked(tmp_path / "hostile.tar.gz", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_members_that_the_manifest_does_not_announce_are_refused(tmp_path: Path) -> None:
    data = manifests.encode_manifest(about(Member("accord.db", 4, "")))
    for info in (linked(tarfile.SYMTYPE), tarfile.TarInfo("../accord.db")):
        whole = tar_with(manifest_info(data), info, data=data)
        (tmp_path / "other.tar.gz").write_bytes(whole)
        with pytest.raises(DamagedBackupError, match=r"there is no accord\.db where it should be"):
            unpacked(tmp_path / "other.tar.gz", tmp_path)


def test_a_backup_of_a_later_format_names_the_release_that_reads_it(tmp_path: Path) -> None:
    later = replace(about(Member("accord.db", 0, "")), format=2, release="9.1.0")
    data = manifests.encode_manifest(later)
    (tmp_path / "later.tar.gz").write_bytes(tar_with(manifest_info(data), data=data))
    with pytest.raises(BackupError, match=r"release '9\.1\.0', in format 2; this release reads"):
        unpacked(tmp_path / "later.tar.gz", tmp_path)
