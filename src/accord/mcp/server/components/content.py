"""Content of results: images, audio, files, and the values that tools return.

A function's return annotation determines, once, how its values become content. A value with an
output schema is sent twice: as structured content, which the schema describes, and as text.
"""

from __future__ import annotations

from collections.abc import Callable
from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import UNSET, Raw, Struct

from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from accord.mcp.protocol.messages import CallToolResult
from accord.mcp.protocol.versions import Era
from accord.schema.schema import Schema
from accord.schema.types import returns as schema_of_results
from accord.schema.validator import JsonSchema, TooComplexError

M = TypeVar("M", bound="Media")

UNKNOWN: Final = "application/octet-stream"
BYTES_URI: Final = "urn:accord:bytes"
"""The URI of an embedded resource that was made from bytes, which have no URI of their own."""

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
        """Read the file at `path`; by default its name determines the media type."""
        return cls(Path(path).read_bytes(), mime_type or mime_type_of(path))

    @property
    def type(self) -> str:
        return self.mime_type or recognized(self.data)


class Image(Media, frozen=True):
    """An image, sent as image content."""

    def content(self) -> Content:
        return ImageContent.of(self.data, self.type)


class Audio(Media, frozen=True):
    """Audio data, sent as audio content."""

    def content(self) -> Content:
        return AudioContent.of(self.data, self.type)


class File(Media, frozen=True):
    """A file of any other kind, sent as an embedded resource."""

    uri: str = BYTES_URI

    def content(self) -> Content:
        return EmbeddedResource(resource=ResourceContents.of(self.uri, self.data, self.type))


def content_of(data: bytes) -> Content:
    """Return bytes as an image, audio or an embedded resource, as detected."""
    kind = recognized(data)
    if kind.startswith("image/"):
        return ImageContent.of(data, kind)
    if kind.startswith("audio/"):
        return AudioContent.of(data, kind)
    return EmbeddedResource(resource=ResourceContents.of(BYTES_URI, data, kind))


def recognized(data: bytes) -> str:
    """Return the media type that the first bytes of a file indicate.

    Return `UNKNOWN` for other bytes.
    """
    for signature, offset, kind in _SIGNATURES:
        if data.startswith(signature, offset):
            return kind
    return UNKNOWN


def mime_type_of(path: str | PathLike[str]) -> str:
    """Return the media type of a file name; empty if unknown."""
    return guess_type(path)[0] or ""


BLOCKS: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)

MEDIA: Final = (Image, Audio, File)
"""The Python types of media, which are converted to a content block when they are sent."""

Convert: TypeAlias = Callable[[Any, Era], CallToolResult]


class Output(Struct, frozen=True):
    """The conversion of a function's return values to tool results."""

    convert: Convert
    schema: Schema | None = None
    """The schema of structured content; None if results have no structured content."""
    written: dict[str, Any] | None = None
    """The output schema written by hand; None for a schema from the return annotation."""

    @property
    def is_object(self) -> bool:
        """True if every value is encoded as a JSON object.

        Versions before 2026-07-28 (the handshake era) allow only objects as structured content, so
        other values are sent to their clients as the member `result` of an object.
        """
        return self.schema is not None and is_object(self.schema)


class OutputRefusedError(Exception):
    """An error that is raised for a result that violates the tool's output schema."""


def output_of(annotation: Any, *, structured: bool = True) -> Output:
    """Return the conversion for functions with this return annotation.

    Without `structured`, results have no structured content.
    """
    if annotation is str:
        return Output(_convert_text)
    if not structured or annotation in (bytes, NoneType, None) or _is_blocks(annotation):
        return Output(lambda value, _era: content_result(value))
    if annotation is Any:
        return Output(_convert_any)
    schema = schema_of_results(annotation)
    if schema.value in ({}, True):
        return Output(_convert_any)
    if is_object(schema):
        return Output(_convert_object, schema)
    return Output(_convert_value, schema)


def structured_by(schema: dict[str, Any]) -> Output:
    """Return the conversion for functions with a hand-written output schema.

    It checks each value against `schema`, and raises `OutputRefusedError` for a violation.
    """
    parts = {name: value for name, value in schema.items() if name != "$defs"}
    described = Schema(parts, schema.get("$defs", {}))
    convert = _convert_object if is_object(described) else _convert_value
    check = JsonSchema(schema)

    def checked(value: Any, era: Era) -> CallToolResult:
        if isinstance(value, CallToolResult) and value.structured_content is UNSET:
            if not value.is_error:
                raise OutputRefusedError("there is no structured content")
            return value
        plain = value.structured_content if isinstance(value, CallToolResult) else value
        try:
            # 2025-06-18, tools: structured results must conform to the output schema.
            problem = check.problem(msgspec.json.decode(encode(plain)))
        except TooComplexError:
            problem = "it takes too much work to check"
        if problem is not None:
            raise OutputRefusedError(problem)
        return convert(value, era)

    return Output(checked, described, schema)


def is_object(schema: Schema) -> bool:
    """Return whether a schema allows only JSON objects as values."""
    value = schema.value
    while isinstance(value, dict) and set(value) == {"$ref"}:
        value = schema.definitions[value["$ref"].removeprefix("#/$defs/")]
    return isinstance(value, dict) and value.get("type") == "object"


def content_result(value: Any) -> CallToolResult:
    """Return a value as a result without structured content.

    A value that is a `CallToolResult` already is returned unchanged.
    """
    if isinstance(value, CallToolResult):
        return value
    return CallToolResult(content=_blocks(value))


def error_result(text: str) -> CallToolResult:
    """Return a result that reports an error to the model."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _convert_text(value: Any, _era: Era) -> CallToolResult:
    if type(value) is str:  # as it should be; the rest is for those who return something else
        return CallToolResult(content=[TextContent(text=value)])
    return content_result(value)


def _convert_object(value: Any, _era: Era) -> CallToolResult:
    if isinstance(value, CallToolResult):
        return value
    data = encode(value)
    return CallToolResult(content=[TextContent(text=data.decode())], structured_content=Raw(data))


def _convert_value(value: Any, era: Era) -> CallToolResult:
    if isinstance(value, CallToolResult):
        return value
    data = encode(value)
    structured = data if era is Era.STATELESS else b'{"result":%b}' % data
    return CallToolResult(
        content=[TextContent(text=data.decode())], structured_content=Raw(structured)
    )


def _convert_any(value: Any, era: Era) -> CallToolResult:
    """Convert a value of no declared type; only a dict gives structured content."""
    if isinstance(value, dict):
        return _convert_object(value, era)
    return content_result(value)


def _blocks(value: Any) -> list[Content]:
    if value is None or value is UNSET:
        return []
    if isinstance(value, list | tuple) and any(isinstance(it, (*BLOCKS, *MEDIA)) for it in value):
        return [block_of(it) for it in value]
    return [block_of(value)]


def block_of(value: Any) -> Content:
    """Return one value as content.

    Values that are neither content nor bytes become text.
    """
    if isinstance(value, str):
        return TextContent(text=value)
    if isinstance(value, BLOCKS):
        return value
    if isinstance(value, MEDIA):
        return value.content()
    if isinstance(value, bytes | bytearray | memoryview):
        return content_of(bytes(value))
    return TextContent(text=encode(value).decode())


def _is_blocks(annotation: Any) -> bool:
    """Return whether an annotation consists of content blocks, media or results."""
    if isinstance(annotation, type) and not get_args(annotation):
        return issubclass(annotation, (*BLOCKS, *MEDIA, CallToolResult))
    inner = [it for it in get_args(annotation) if it is not Ellipsis]
    return bool(inner) and all(map(_is_blocks_or_text, inner)) and any(map(_is_blocks, inner))


def _is_blocks_or_text(annotation: Any) -> bool:
    return annotation is str or annotation is NoneType or _is_blocks(annotation)
