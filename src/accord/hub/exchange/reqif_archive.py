"""ReqIF archives (`.reqifz`): the files in a ZIP archive that is sent in base64. Pure.

Archives are hostile: entries, sizes and the ratio of compression are limited, names that leave the
archive are refused, and nothing is written to a disk.
"""

from __future__ import annotations

import io
import zlib
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from typing import Final
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

from accord.hub.exchange.decoding import text_of
from accord.hub.exchange.project import MAX_CHARACTERS, FormatError

MAX_ENTRIES: Final = 1_000
MAX_BYTES: Final = MAX_CHARACTERS
"""The uncompressed size of all ReqIF files in an archive together."""
MAX_RATIO: Final = 200
"""The uncompressed size of a file, divided by its compressed size."""
MIN_CHECKED: Final = 1024 * 1024
"""Files up to this size may have any ratio."""
CHUNK: Final = 256 * 1024
BEGINNINGS: Final = ("UEsDB", "UEsFB", "UEsHC")
"""The first characters of a ZIP archive in base64; no XML begins like that."""
ASIDE: Final = ("__MACOSX/",)
"""Folders that an operating system adds to its archives."""

_BROKEN: Final = (
    *(BadZipFile, LargeZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, OSError, IndexError, OverflowError),
)
"""Exceptions of the standard library for damaged or encrypted archives."""


def is_archive(content: str) -> bool:
    """Return whether the content of an import is a ZIP archive in base64."""
    return content.startswith(BEGINNINGS)


class Archive:
    """The ReqIF files of an archive, and the names of its other files."""

    def __init__(self, content: str) -> None:
        """Open an archive. Raises FormatError if it is invalid or over a limit."""
        try:
            raw = b64decode(content, validate=True)
        except (Base64Error, ValueError):
            raise FormatError("this is no archive in base64") from None
        try:
            self._zip = ZipFile(io.BytesIO(raw))
        except _BROKEN as error:
            raise FormatError(f"this is no ZIP archive: {error}") from None
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise FormatError(
                f"{len(entries):,} files in the archive exceed the limit of {MAX_ENTRIES:,}"
            )
        for entry in entries:
            _check_name(entry.filename)
        files = [
            entry
            for entry in entries
            if not entry.is_dir() and not entry.filename.startswith(ASIDE)
        ]
        self._files = [each for each in files if each.filename.lower().endswith(".reqif")]
        self.others = [each.filename for each in files if each not in self._files]
        if not self._files:
            raise FormatError("there is no .reqif file in this archive")

    def texts(self) -> Iterator[str]:
        """Yield the text of each ReqIF file. Raises FormatError."""
        left = MAX_BYTES
        for entry in self._files:
            raw = self._read(entry, left)
            left -= len(raw)
            yield text_of(raw)

    def _read(self, entry: ZipInfo, left: int) -> bytes:
        read, size = [], 0
        try:
            with self._zip.open(entry) as opened:
                while chunk := opened.read(CHUNK):
                    size += len(chunk)
                    # The sizes declared in the archive may be wrong: count what is read.
                    if size > left:
                        raise FormatError(
                            f"the files in the archive exceed the limit of {MAX_BYTES:,} bytes"
                        )
                    if size > MIN_CHECKED and size > MAX_RATIO * max(1, entry.compress_size):
                        raise FormatError(
                            f"{entry.filename[:100]!r} is compressed more than {MAX_RATIO} times"
                        )
                    read.append(chunk)
        except FormatError:
            raise
        except _BROKEN as error:
            raise FormatError(f"{entry.filename[:100]!r} cannot be read: {error}") from None
        return b"".join(read)


def _check_name(name: str) -> None:
    """Raise FormatError for a path that leaves the archive."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise FormatError(f"the archive has a file with the path {name[:100]!r}")
