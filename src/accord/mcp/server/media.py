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
"""What bytes are called that come without a name."""

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
    """Bytes of a type. Without one, the type is what the bytes look like."""

    data: bytes
    mime_type: str = ""

    @classmethod
    def read(cls: type[M], path: str | PathLike[str], mime_type: str = "") -> M:
        """The file at `path`, of the type that its name says."""
        return cls(Path(path).read_bytes(), mime_type or mime_type_of(path))

    @property
    def type(self) -> str:
        return self.mime_type or recognized(self.data)


class Image(Media, frozen=True):
    """A picture."""

    def content(self) -> Content:
        return ImageContent.of(self.data, self.type)


class Audio(Media, frozen=True):
    """A sound."""

    def content(self) -> Content:
        return AudioContent.of(self.data, self.type)


class File(Media, frozen=True):
    """Any other file, which is sent as a resource with its contents."""

    uri: str = BYTES_URI

    def content(self) -> Content:
        return EmbeddedResource(resource=ResourceContents.of(self.uri, self.data, self.type))


def content_of(data: bytes) -> Content:
    """Bytes as content of the kind that they look like."""
    kind = recognized(data)
    if kind.startswith("image/"):
        return ImageContent.of(data, kind)
    if kind.startswith("audio/"):
        return AudioContent.of(data, kind)
    return EmbeddedResource(resource=ResourceContents.of(BYTES_URI, data, kind))


def recognized(data: bytes) -> str:
    """The type of a file that begins like this."""
    for signature, offset, kind in _SIGNATURES:
        if data.startswith(signature, offset):
            return kind
    return UNKNOWN


def mime_type_of(path: str | PathLike[str]) -> str:
    """The type of a file of this name; empty where the name says nothing."""
    return guess_type(path)[0] or ""
