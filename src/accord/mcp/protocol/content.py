"""Content of tool results, prompts and model messages, and the `_meta` of messages.

Absent members are left out when encoded. Binary content is base64 in `data` and `blob`. Only the
members of `_meta` that the protocol defines are read; others belong to the application.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

PREFIX: Final = "io.modelcontextprotocol/"
PROTOCOL_VERSION: Final = PREFIX + "protocolVersion"
CLIENT_INFO: Final = PREFIX + "clientInfo"
CLIENT_CAPABILITIES: Final = PREFIX + "clientCapabilities"
SERVER_INFO: Final = PREFIX + "serverInfo"
LOG_LEVEL: Final = PREFIX + "logLevel"
SUBSCRIPTION_ID: Final = PREFIX + "subscriptionId"
RELATED_TASK: Final = PREFIX + "related-task"

Meta: TypeAlias = dict[str, Any]
"""A `_meta` object as an application sees it."""

ProgressToken: TypeAlias = int | str


class RequestMeta(Struct, frozen=True, gc=False):
    """The members of a request's `_meta` that the protocol defines.

    Members that are rarely needed are not decoded.
    """

    progress_token: ProgressToken | UnsetType = field(name="progressToken", default=UNSET)
    protocol_version: str | UnsetType = field(name=PROTOCOL_VERSION, default=UNSET)
    client_info: Raw | UnsetType = field(name=CLIENT_INFO, default=UNSET)
    client_capabilities: Raw | UnsetType = field(name=CLIENT_CAPABILITIES, default=UNSET)
    log_level: str | UnsetType = field(name=LOG_LEVEL, default=UNSET)


NO_META: Final = RequestMeta()


Role: TypeAlias = Literal["user", "assistant"]


class Icon(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An icon for user interfaces."""

    src: str
    """An https or data URL."""
    mime_type: str = ""
    sizes: tuple[str, ...] = ()
    theme: Literal["light", "dark", ""] = ""


class Annotations(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Hints about content: its audience, its priority, its age."""

    audience: tuple[Role, ...] = ()
    priority: float | None = None
    """The importance, from 0 (optional) to 1 (required)."""
    last_modified: str = ""
    """The time of the last change, in ISO 8601."""


class _Content(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    annotations: Annotations | None = None
    meta: Meta | None = field(name="_meta", default=None)


class TextContent(_Content, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageContent(_Content, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str

    @staticmethod
    def of(data: bytes, mime_type: str) -> ImageContent:
        return ImageContent(data=_base64(data), mime_type=mime_type)


class AudioContent(_Content, frozen=True, tag_field="type", tag="audio"):
    data: str
    mime_type: str

    @staticmethod
    def of(data: bytes, mime_type: str) -> AudioContent:
        return AudioContent(data=_base64(data), mime_type=mime_type)


class ResourceLink(_Content, frozen=True, tag_field="type", tag="resource_link"):
    """A link to a resource that the client can read, without its contents."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    icons: tuple[Icon, ...] = ()


class ResourceContents(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The contents of a resource: text, or a blob in base64, never both."""

    uri: str
    mime_type: str = ""
    text: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET
    meta: Meta | None = field(name="_meta", default=None)

    def __post_init__(self) -> None:
        if (self.text is UNSET) is (self.blob is UNSET):
            raise ValueError("resource contents have either text or blob")

    @staticmethod
    def of(uri: str, data: str | bytes, mime_type: str = "") -> ResourceContents:
        if isinstance(data, str):
            return ResourceContents(uri=uri, text=data, mime_type=mime_type)
        return ResourceContents(uri=uri, blob=_base64(data), mime_type=mime_type)


class EmbeddedResource(_Content, frozen=True, tag_field="type", tag="resource"):
    """A resource with its contents."""

    resource: ResourceContents


class ToolUseContent(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="tool_use"
):
    """A model's request to call a tool, in sampling."""

    id: str
    name: str
    input: dict[str, Any]
    meta: Meta | None = field(name="_meta", default=None)


class ToolResultContent(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    tag_field="type",
    tag="tool_result",
):
    """The result of a tool call that a model requested, in sampling."""

    tool_use_id: str
    content: list[Content]
    structured_content: Any = UNSET
    is_error: bool = False
    meta: Meta | None = field(name="_meta", default=None)


Content: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
"""One block of a tool's result or a prompt's message."""

SamplingContent: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
