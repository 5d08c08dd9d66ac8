"""From what a tool's function returns to the result of the call.

The return annotation decides once how values become content. A value of a data type is sent
twice: as structured content for programs, which the output schema describes, and as JSON in
a text for models and old clients. A `str` is text and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, Final, TypeAlias, get_args, get_origin

from msgspec import UNSET, Raw, Struct

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from accord.mcp.protocol.results import CallToolResult
from accord.mcp.protocol.versions import Era
from accord.schema.schema import Schema
from accord.schema.types import returns as schema_of_results

BLOCKS: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)

Convert: TypeAlias = Callable[[Any, Era], CallToolResult]


class Output(Struct, frozen=True):
    """How the values of one return annotation are sent."""

    convert: Convert
    schema: Schema | None = None
    """What structured content is like; None where there is none to describe."""

    @property
    def is_object(self) -> bool:
        """Whether structured content is an object as it is. If not, it is the member `result`
        of one in the handshake era, where it had to be an object."""
        return self.schema is not None and is_object(self.schema)


def output_of(annotation: Any) -> Output:
    """How values of `annotation` are sent."""
    if annotation is str or annotation is NoneType or annotation is None or _is_blocks(annotation):
        return Output(lambda value, era: content_result(value))
    if annotation is Any:
        return Output(_convert_any)
    schema = schema_of_results(annotation)
    if is_object(schema):
        return Output(_convert_object, schema)
    return Output(_convert_value, schema)


def is_object(schema: Schema) -> bool:
    """Whether all that `schema` allows are objects."""
    value = schema.value
    while isinstance(value, dict) and set(value) == {"$ref"}:
        value = schema.definitions[value["$ref"].removeprefix("#/$defs/")]
    return isinstance(value, dict) and value.get("type") == "object"


def content_result(value: Any) -> CallToolResult:
    """A result without structured content."""
    if isinstance(value, CallToolResult):
        return value
    return CallToolResult(content=_blocks(value))


def error_result(text: str) -> CallToolResult:
    """A result that tells the model what went wrong."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _convert_object(value: Any, era: Era) -> CallToolResult:
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
    """For functions that do not say what they return."""
    if isinstance(value, dict):
        return _convert_object(value, era)
    return content_result(value)


def _blocks(value: Any) -> list[Content]:
    if value is None or value is UNSET:
        return []
    if isinstance(value, list | tuple) and any(isinstance(it, BLOCKS) for it in value):
        return [_block(it) for it in value]
    return [_block(value)]


def _block(value: Any) -> Content:
    if isinstance(value, BLOCKS):
        return value
    return TextContent(text=value if isinstance(value, str) else encode(value).decode())


def _is_blocks(annotation: Any) -> bool:
    """Whether an annotation is about content: a block, several, or a ready result."""
    if isinstance(annotation, type) and not get_args(annotation):
        return issubclass(annotation, (*BLOCKS, CallToolResult))
    inner = [it for it in get_args(annotation) if it is not Ellipsis]
    if get_origin(annotation) in (list, tuple):
        return bool(inner) and all(map(_is_blocks_or_text, inner)) and any(map(_is_blocks, inner))
    return bool(inner) and all(map(_is_blocks_or_text, inner)) and any(map(_is_blocks, inner))


def _is_blocks_or_text(annotation: Any) -> bool:
    return annotation is str or annotation is NoneType or _is_blocks(annotation)
