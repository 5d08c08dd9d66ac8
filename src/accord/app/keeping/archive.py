"""The file of a backup: a tar file, compressed by gzip, with its manifest in front.

Any tar program can unpack one. What is read may be anybody's: a header must be the one that the
manifest announces, a plain file of that size, or everything is refused. Nothing is unpacked to a
name that the file chooses, and no more than the manifest says.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from accord.app.keeping import manifest as manifests
from accord.app.keeping.errors import DamagedError
from accord.app.keeping.manifest import Manifest, Member

BLOCK: Final = tarfile.BLOCKSIZE
PIECE: Final = 1024 * 1024
MODE: Final = 0o600
LEVEL: Final = 6
END: Final = bytes(2 * BLOCK)
"""Two blocks of zeros end a tar file."""

Progress: TypeAlias = Callable[[int, int], None]
"""Is told how many of how many bytes are done."""


def silent(done: int, total: int) -> None:
    """A `Progress` that tells nobody."""


def measured(name: str, path: Path) -> Member:
    """A file as a member."""
    found, size = sha256(), 0
    with path.open("rb") as file:
        for piece in _pieces(file):
            found.update(piece)
            size += len(piece)
    return Member(name, size, found.hexdigest())


def write_archive(
    target: Path, manifest: Manifest, files: Sequence[Path], *, progress: Progress = silent
) -> None:
    """Write `target`, with the files in the order of the manifest's members; it is on the disk
    when this returns. Raises OSError."""
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
    done = 0
    with open(fd, "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", compresslevel=LEVEL) as out:
            head = manifests.encode(manifest)
            out.write(_header(manifests.NAME, len(head)) + head + _padding(len(head)))
            for member, path in zip(manifest.members, files, strict=True):
                out.write(_header(member.name, member.size))
                with path.open("rb") as file:
                    for piece in _pieces(file):
                        out.write(piece)
                        done += len(piece)
                        progress(done, manifest.size)
                out.write(_padding(member.size))
            out.write(END)
        raw.flush()
        os.fsync(raw.fileno())


class Archive:
    """A backup that is being read, from its beginning to its end, once."""

    def __init__(self, file: gzip.GzipFile, path: Path) -> None:
        self._file = file
        self._path = path
        size = self._next(manifests.NAME)
        if size > manifests.MAX_BYTES:
            raise self._damaged(f"its manifest has {size:,} bytes, and may have 1,048,576")
        data = self._read(size)
        self._skip_padding(size)
        try:
            self.manifest = manifests.decode(data)
        except DamagedError as error:
            raise self._damaged(str(error)) from None

    def unpack(self, folder: Path | None, *, progress: Progress = silent) -> None:
        """Read all members, and write them into `folder`, if there is one. Raises DamagedError
        where anything is not as the manifest says, and OSError."""
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
        """The size of the next member, which must be the plain file `name`."""
        try:
            found = tarfile.TarInfo.frombuf(self._read(BLOCK), "ascii", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError):
            raise self._damaged(f"there is no {name} where it should be") from None
        if found.name != name or found.type != tarfile.REGTYPE or found.size < 0:
            raise self._damaged(f"there is no {name} where it should be")
        return found.size

    def _content(self, size: int) -> Iterator[bytes]:
        while size:
            piece = self._read(min(size, PIECE))
            size -= len(piece)
            yield piece

    def _skip_padding(self, size: int) -> None:
        if self._read(-size % BLOCK).strip(b"\0"):
            raise self._damaged("there is something between its members")

    def _finish(self) -> None:
        """What is behind the last member: nothing. The end of the compressed data, with its own
        checksum, is read on the way."""
        if self._read(len(END)) != END or self._some(1):
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

    def _damaged(self, why: str) -> DamagedError:
        return DamagedError(f"{self._path} is no backup, or is damaged: {why}")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Begin to read a backup; its manifest is there at once. Raises KeepingError and OSError."""
    with path.open("rb") as raw, gzip.GzipFile(fileobj=raw, mode="rb") as file:
        yield Archive(file, path)


@contextmanager
def _writing(folder: Path | None, name: str) -> Iterator[IO[bytes] | None]:
    if folder is None:
        yield None
        return
    path = folder / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "wb") as out:
        yield out
        out.flush()
        os.fsync(out.fileno())


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, MODE
    return info.tobuf(tarfile.GNU_FORMAT)  # sizes of 8 GiB and more are written as GNU does


def _padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece
