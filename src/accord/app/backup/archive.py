"""The backup file: a tar file compressed by gzip, with its manifest as the first member.

Any tar program can unpack a backup. A file that is read is not trusted: each header must be that of
a plain file with the name and size in the manifest, or the whole backup is refused. Only names that
backups of Accord have are unpacked, and no more bytes than the manifest states.

The manifest's `seal` is a hash of the rest of the manifest. The manifest must also be in canonical
form: decoding and encoding it must give the same bytes. So a change of any byte is detected. The
seal does not authenticate the writer: anyone who can write to a backup can replace it by another
valid one.
"""

from __future__ import annotations

import gzip
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.methods.param_values import REFUSALS
from accord.store.store import Engine


class BackupError(Exception):
    """A backup cannot be taken, read or restored; the message says what to do."""


class DamagedBackupError(BackupError):
    """A file is not a backup, or has been changed or truncated."""


MANIFEST_FORMAT: Final = 1
MANIFEST_FILE: Final = "manifest.json"
MAX_MANIFEST_BYTES: Final = 1024 * 1024

DATABASE_FILES: Final[dict[Engine, str]] = {"sqlite": "accord.db", "postgresql": "accord.dump"}
KEY_MEMBER: Final = "key"
SETTINGS_MEMBER: Final = "accord.toml"
AUDIT_HEAD_MEMBER: Final = "audit-head"
RUNS_PREFIX: Final = "archive/"
"""The prefix of the names of files with archived runs."""

_MEMBER_NAMES: Final = re.compile(
    r"accord\.db|accord\.dump|key|accord\.toml|audit-head|archive/runs-\d{4}-\d{2}\.jsonl"
)


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """A file in a backup."""

    name: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The manifest of a backup."""

    format: int
    release: str
    created_at: str
    engine: Engine
    engine_version: int
    """The major version of the engine, such as 16 for PostgreSQL; 3 for SQLite."""
    schema: str
    """The PostgreSQL schema with the tables; empty for SQLite."""
    key_fingerprint: str
    """The fingerprint of the server key that the database belongs to."""
    migrations: dict[str, dict[int, str]]
    """The names of the applied migrations, by part (such as `hub`) and number."""
    members: tuple[Member, ...]
    seal: str = ""

    def has(self, name: str) -> bool:
        return any(each.name == name for each in self.members)

    @property
    def size(self) -> int:
        """Return the size of all members together, in bytes."""
        return sum(each.size for each in self.members)


class _ManifestFormat(Struct):
    format: int
    release: str


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of a sealed manifest."""
    sealed = replace(manifest, seal=_seal(manifest))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def decode_manifest(data: bytes) -> Manifest:
    """Return a manifest.

    Raises DamagedBackupError for an invalid manifest, and BackupError for one of a later format.
    """
    try:
        about = msgspec.json.decode(data, type=_ManifestFormat)
        if about.format > MANIFEST_FORMAT:
            raise BackupError(
                f"this backup was taken by release {about.release[:40]!r}, in format "
                f"{about.format}; this release reads format {MANIFEST_FORMAT}: use that release, "
                "or a newer one"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except REFUSALS:
        raise DamagedBackupError(f"its {MANIFEST_FILE} cannot be read") from None
    if encode_manifest(manifest) != data:
        raise DamagedBackupError(f"its {MANIFEST_FILE} was changed")
    _check_members(manifest)
    return manifest


def _check_members(manifest: Manifest) -> None:
    """Raise DamagedBackupError if the members are not those of a backup of Accord."""
    names = [each.name for each in manifest.members]
    wrong = [name for name in names if not _MEMBER_NAMES.fullmatch(name)]
    if wrong:
        raise DamagedBackupError(f"it has a member {wrong[0][:80]!r}, which no backup has")
    if len(set(names)) != len(names):
        raise DamagedBackupError("it has a member twice")
    if not manifest.has(DATABASE_FILES[manifest.engine]):
        raise DamagedBackupError("it has no database")
    if any(each.size < 0 for each in manifest.members):
        raise DamagedBackupError("it has a member of less than nothing")


def _seal(manifest: Manifest) -> str:
    return sha256(msgspec.json.encode(replace(manifest, seal=""))).hexdigest()


BLOCK_BYTES: Final = tarfile.BLOCKSIZE
PIECE_BYTES: Final = 1024 * 1024
FILE_MODE: Final = 0o600
GZIP_LEVEL: Final = 6
ARCHIVE_END: Final = bytes(2 * BLOCK_BYTES)
"""The two blocks of zeros that end a tar file."""

Progress: TypeAlias = Callable[[int, int], None]
"""A function called with the number of bytes done and of all bytes."""


def no_progress(done: int, total: int) -> None:
    """Do nothing: the progress is not reported."""


def measure_file(name: str, path: Path) -> Member:
    """Return the member for a file, with the size and hash of the file."""
    found, size = sha256(), 0
    with path.open("rb") as file:
        for piece in _pieces(file):
            found.update(piece)
            size += len(piece)
    return Member(name, size, found.hexdigest())


def write_archive(
    target: Path, manifest: Manifest, files: Sequence[Path], *, progress: Progress = no_progress
) -> None:
    """Write `target`, with the files in the order of the manifest's members.

    The data is on the disk when this returns. Raises OSError if a file cannot be read or written.
    """
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    done = 0
    with open(fd, "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", compresslevel=GZIP_LEVEL) as out:
            head = encode_manifest(manifest)
            out.write(_header(MANIFEST_FILE, len(head)) + head + _padding(len(head)))
            for member, path in zip(manifest.members, files, strict=True):
                out.write(_header(member.name, member.size))
                with path.open("rb") as file:
                    for piece in _pieces(file):
                        out.write(piece)
                        done += len(piece)
                        progress(done, manifest.size)
                out.write(_padding(member.size))
            out.write(ARCHIVE_END)
        raw.flush()
        os.fsync(raw.fileno())


class Archive:
    """A backup that is being read, from its beginning to its end, once."""

    def __init__(self, file: gzip.GzipFile, path: Path) -> None:
        self._file = file
        self._path = path
        size = self._next(MANIFEST_FILE)
        if size > MAX_MANIFEST_BYTES:
            raise self._damaged(f"its manifest has {size:,} bytes, and may have 1,048,576")
        data = self._read(size)
        self._skip_padding(size)
        try:
            self.manifest = decode_manifest(data)
        except DamagedBackupError as error:
            raise self._damaged(str(error)) from None

    def unpack(self, folder: Path | None, *, progress: Progress = no_progress) -> None:
        """Read all members, and write them into `folder` if there is one.

        Raises DamagedBackupError if anything differs from the manifest, and OSError if a file
        cannot be read or written.
        """
        done = 0
        for member in self.manifest.members:
            if self._next(member.name) != member.size:
                raise self._damaged(f"{member.name} has not the size that the manifest says")
            found = sha256()
            with _writing(folder, member.name) as out:
                for piece in self._content(member.size):
                    found.update(piece)
                    if out is not None:
                        out.write(piece)
                    done += len(piece)
                    progress(done, self.manifest.size)
            self._skip_padding(member.size)
            if found.hexdigest() != member.sha256:
                raise self._damaged(f"{member.name} is not as it was written")
        self._finish()

    def _next(self, name: str) -> int:
        """Return the size of the next member, which must be the plain file `name`."""
        try:
            found = tarfile.TarInfo.frombuf(self._read(BLOCK_BYTES), "ascii", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError):
            raise self._damaged(f"there is no {name} where it should be") from None
        if found.name != name or found.type != tarfile.REGTYPE or found.size < 0:
            raise self._damaged(f"there is no {name} where it should be")
        return found.size

    def _content(self, size: int) -> Iterator[bytes]:
        while size:
            piece = self._read(min(size, PIECE_BYTES))
            size -= len(piece)
            yield piece

    def _skip_padding(self, size: int) -> None:
        if self._read(-size % BLOCK_BYTES).strip(b"\0"):
            raise self._damaged("there is something between its members")

    def _finish(self) -> None:
        """Check that nothing follows the last member.

        This also reads the end of the compressed data, with its checksum.
        """
        if self._read(len(ARCHIVE_END)) != ARCHIVE_END or self._some(1):
            raise self._damaged("there is something behind its last member")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._some(size - len(data))
            if not piece:
                raise self._damaged("its end is missing")
            data += piece
        return data

    def _some(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except EOFError:
            raise self._damaged("its end is missing") from None
        except (gzip.BadGzipFile, zlib.error):
            raise self._damaged("it cannot be decompressed") from None

    def _damaged(self, why: str) -> DamagedBackupError:
        return DamagedBackupError(f"{self._path} is no backup, or is damaged: {why}")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a backup and read its manifest.

    Raises BackupError if the file is no usable backup, and OSError if it cannot be read.
    """
    with path.open("rb") as raw, gzip.GzipFile(fileobj=raw, mode="rb") as file:
        yield Archive(file, path)


@contextmanager
def _writing(folder: Path | None, name: str) -> Iterator[IO[bytes] | None]:
    if folder is None:
        yield None
        return
    path = folder / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as out:
        yield out
        out.flush()
        os.fsync(out.fileno())


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, FILE_MODE
    return info.tobuf(tarfile.GNU_FORMAT)  # sizes of 8 GiB and more are written as GNU does


def _padding(size: int) -> bytes:
    return bytes(-size % BLOCK_BYTES)


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
