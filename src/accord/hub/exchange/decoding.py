"""Content of imported files: encodings, and ReqIF archives (`.reqifz`). Pure.

An archive is a ZIP file, sent in base64. Archives are untrusted: the number of entries, their sizes
and the ratio of compression are limited.
"""

from __future__ import annotations

import io
import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from typing import Final
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

from accord.hub.exchange.project import MAX_CHARACTERS, FormatError

ENCODINGS: Final = re.compile(
    r"utf-?8|utf-?16(le|be)?|us-ascii|ascii|iso-?8859-?[0-9]{1,2}|latin-?1|windows-?125[0-8]|"
    r"cp125[0-8]|koi8-[ru]|macintosh|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5",
    re.IGNORECASE,
)
"""The supported encodings of XML, as files declare them."""
ARCHIVE: Final = b"PK"
"""The first bytes of a ZIP archive."""

_DECLARED: Final = re.compile(
    r"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["'](?P<name>[^"'<>]{0,100})["']"""
)


def content_of(raw: bytes) -> str:
    """Return the content of an imported file as text.

    A ZIP archive is encoded in base64; any other file is decoded with its encoding.

    Raises FormatError if the encoding is unsupported or wrong.
    """
    if raw.startswith(ARCHIVE):
        return b64encode(raw).decode()
    return text_of(raw)


def text_of(raw: bytes) -> str:
    """Return the text of a file.

    Raises FormatError if the encoding is unsupported or wrong.
    """
    encoding = "utf-8-sig"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif raw.startswith(b"<\0?\0"):
        encoding = "utf-16-le"
    elif raw.startswith(b"\0<\0?"):
        encoding = "utf-16-be"
    elif declared := _DECLARED.match(raw[:400].decode("latin-1")):
        encoding = _known(declared["name"])
        if encoding.lower().startswith(("utf-8", "utf8", "utf-16", "utf16")):
            encoding = "utf-8-sig"  # UTF-16 cannot begin with the bytes of an ASCII "<?xml"
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise FormatError(f"this is no text in {encoding.removesuffix('-sig')}: {error}") from None


def check_declared_encoding(text: str) -> None:
    """Raise FormatError if XML declares an unsupported encoding.

    The text is already decoded, so the declared encoding itself does not matter.
    """
    declared = _DECLARED.match(text)
    if declared:
        _known(declared["name"])


def _known(name: str) -> str:
    if ENCODINGS.fullmatch(name) is None:
        raise FormatError(
            f"the encoding {name!r} that the file declares is not supported: save it as UTF-8"
        )
    return name


MAX_ENTRIES: Final = 1_000
MAX_BYTES: Final = MAX_CHARACTERS
"""The maximum uncompressed size of all ReqIF files in an archive together."""
MAX_RATIO: Final = 200
"""The maximum uncompressed size of a file, divided by its compressed size."""
MIN_CHECKED: Final = 1024 * 1024
"""Files of at most this many uncompressed bytes may have any compression ratio."""
CHUNK: Final = 256 * 1024
BEGINNINGS: Final = ("UEsDB", "UEsFB", "UEsHC")
"""Prefixes of ZIP archives in base64. No XML file begins with one of them."""
IGNORED_ENTRIES: Final = ("__MACOSX/",)
"""Folders that an operating system adds to its archives."""

_BROKEN: Final = (
    *(BadZipFile, LargeZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, OSError, IndexError, OverflowError),
)
"""Exceptions that the standard library raises for damaged or encrypted archives."""


def is_archive(content: str) -> bool:
    """Return whether the content of an import is a ZIP archive in base64."""
    return content.startswith(BEGINNINGS)


class ReqifArchive:
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
            if not entry.is_dir() and not entry.filename.startswith(IGNORED_ENTRIES)
        ]
        self._files = [each for each in files if each.filename.lower().endswith(".reqif")]
        self.others = [each.filename for each in files if each not in self._files]
        if not self._files:
            raise FormatError("there is no .reqif file in this archive")

    def texts(self) -> Iterator[str]:
        """Yield the text of each ReqIF file in the archive.

        Raises FormatError if a file cannot be read or decoded, or exceeds a limit.
        """
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
