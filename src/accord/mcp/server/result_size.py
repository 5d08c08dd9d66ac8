"""How large results are, and what is sent in place of those that are too large."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    TextContent,
)
from accord.mcp.protocol.results import (
    CallToolResult,
    GetPromptResult,
    ReadResourceResult,
    Result,
)
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.tool_results import error_result

SMALL = 200
"""What a block counts that carries nothing but names, and any block beside what it carries."""


def size_of(result: Result) -> int:
    """About how many bytes a result has: what texts, binary and structured content take."""
    if isinstance(result, CallToolResult):
        size = 0
        for block in result.content:
            size += len(block.text) + SMALL if type(block) is TextContent else _block(block)
        structured = result.structured_content
        return size if structured is UNSET else size + _structured(structured)
    if isinstance(result, ReadResourceResult):
        return sum(map(_contents, result.contents))
    if isinstance(result, GetPromptResult):
        return sum(_block(each.content) for each in result.messages)
    return 0


def too_large(result: Result, size: int, most: int, incoming: Incoming, profile: Profile) -> Result:
    """What is sent in place of `result`. Raises RpcError where no result can tell that."""
    told = f"The result of about {size:,} bytes is over the limit of {most:,}"
    if isinstance(result, CallToolResult):
        return error_result(f"{told}. Ask for less.")
    raise failure("content_too_large", told, era=incoming.era, profile=profile, maxSize=most)


def _block(block: Content) -> int:
    if isinstance(block, TextContent):
        return len(block.text) + SMALL
    if isinstance(block, ImageContent | AudioContent):
        return len(block.data) + SMALL
    return _contents(block.resource) if isinstance(block, EmbeddedResource) else SMALL


def _contents(contents: ResourceContents) -> int:
    text = contents.blob if contents.text is UNSET else contents.text
    return (0 if text is UNSET else len(text)) + SMALL


def _structured(value: Any) -> int:
    return len(bytes(value) if isinstance(value, Raw) else encode(value))
