"""The results of requests. Read as they come; written without `resultType`, which whoever
sends one adds together with the server's name where the version wants them."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.mcp.protocol.capabilities import ServerCapabilities
from accord.mcp.protocol.content import Content, ResourceContents, Role
from accord.mcp.protocol.definitions import (
    Implementation,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
)
from accord.mcp.protocol.meta import Meta

CacheScope: TypeAlias = Literal["public", "private"]

COMPLETE: Final = "complete"


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Members of any result."""

    meta: Meta | None = field(name="_meta", default=None)
    result_type: str = COMPLETE
    """2026-07-28, overview: an absent one means `complete`."""


class CacheableResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """From 2026-07-28 on: results that clients may cache."""

    ttl_ms: int | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class InitializeResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str = ""


class DiscoverResult(
    CacheableResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str = ""


class CallToolResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    content: list[Content]
    structured_content: Any = UNSET
    is_error: bool = False


class ReadResourceResult(
    CacheableResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    contents: list[ResourceContents]


class PromptMessage(Struct, frozen=True):
    role: Role
    content: Content


class GetPromptResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    messages: list[PromptMessage]
    description: str = ""


class Completion(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    values: list[str]
    """At most 100."""
    total: int | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    completion: Completion


def _input_required() -> str:
    return "input_required"


class InputRequiredResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """From 2026-07-28 on: a request for input.

    The client repeats its request with answers to these questions.
    """

    # made by a function, so that it is not left out as what is assumed
    result_type: str = field(default_factory=_input_required)
    input_requests: dict[str, Raw] | UnsetType = UNSET
    request_state: str | UnsetType = UNSET


class ListToolsResult(
    CacheableResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    tools: list[Tool]
    next_cursor: str | UnsetType = UNSET


class ListResourcesResult(
    CacheableResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    resources: list[Resource]
    next_cursor: str | UnsetType = UNSET


class ListResourceTemplatesResult(
    CacheableResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    resource_templates: list[ResourceTemplate]
    next_cursor: str | UnsetType = UNSET


class ListPromptsResult(
    CacheableResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    prompts: list[Prompt]
    next_cursor: str | UnsetType = UNSET
