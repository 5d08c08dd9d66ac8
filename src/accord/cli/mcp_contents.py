"""Content as a terminal shows it: text as it is, everything else by what it is."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from typing import assert_never

from msgspec import UNSET

from accord.cli.output import printable
from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)


def shown_content(content: Content) -> str:
    """One block of what a tool returned or a prompt says."""
    match content:
        case TextContent(text=text):
            return shown_text(text)
        case ImageContent(data=data, mime_type=kind) | AudioContent(data=data, mime_type=kind):
            return _blob(kind, data)
        case ResourceLink(uri=uri, name=name):
            return printable(f"[{uri}: {name}]")
        case EmbeddedResource(resource=resource):
            return shown_resource(resource)
        case _:
            assert_never(content)


def shown_resource(contents: ResourceContents) -> str:
    if contents.text is not UNSET:
        return shown_text(contents.text)
    assert contents.blob is not UNSET
    return _blob(contents.mime_type, contents.blob)


def shown_text(text: str) -> str:
    """Text of several lines, which must not drive the terminal."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def decoded(blob: str) -> bytes | None:
    """The bytes of a blob; None for what is no base64."""
    try:
        return b64decode(blob, validate=True)
    except (Base64Error, ValueError):
        return None


def _blob(kind: str, data: str) -> str:
    content = decoded(data)
    size = "not base64" if content is None else f"{len(content):,} bytes"
    return printable(f"[{kind or 'data'}, {size}]")
