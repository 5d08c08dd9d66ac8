"""Pictures, sounds and files that a handler returns as they are, to be sent as content."""

from __future__ import annotations

from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
)

M = TypeVar("M", bound="Media")

UNKNOWN: Final = "application/octet-stream"
BYTES_URI: Final = "urn:accord:bytes"
"""The URI of bytes without a name."""

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"fLaC", 0, "audio/flac"),
    (b"OggS", 0, "audio/ogg"),
    (b"%PDF-", 0, "application/pdf"),
)


class Media(Struct, frozen=True):
    """Bytes with a media type, which is detected by default."""

    data: bytes
    mime_type: str = ""

    @classmethod
    def read(cls: type[M], path: str | PathLike[str], mime_type: str = "") -> M:
        """Return the file at `path`, with the media type of its name."""
        return cls(Path(path).read_bytes(), mime_type or mime_type_of(path))

    @property
    def type(self) -> str:
        return self.mime_type or recognized(self.data)


class Image(Media, frozen=True):
    """An image."""

    def content(self) -> Content:
        return ImageContent.of(self.data, self.type)


class Audio(Media, frozen=True):
    """A sound."""

    def content(self) -> Content:
        return AudioContent.of(self.data, self.type)


class File(Media, frozen=True):
    """Any other file, sent as a resource with its contents."""

    uri: str = BYTES_URI

    def content(self) -> Content:
        return EmbeddedResource(resource=ResourceContents.of(self.uri, self.data, self.type))


def content_of(data: bytes) -> Content:
    """Return bytes as content of the detected kind."""
    kind = recognized(data)
    if kind.startswith("image/"):
        return ImageContent.of(data, kind)
    if kind.startswith("audio/"):
        return AudioContent.of(data, kind)
    return EmbeddedResource(resource=ResourceContents.of(BYTES_URI, data, kind))


def recognized(data: bytes) -> str:
    """Return the media type that the first bytes of a file indicate."""
    for signature, offset, kind in _SIGNATURES:
        if data.startswith(signature, offset):
            return kind
    return UNKNOWN


def mime_type_of(path: str | PathLike[str]) -> str:
    """Return the media type of a file name; empty if unknown."""
    return guess_type(path)[0] or ""
