"""The params of requests and notifications, as their receiver reads them.

Unknown members are ignored: newer versions may add some. What belongs to the application
(`arguments` of a tool, answers to questions) stays raw until its own types decode it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.mcp.protocol.capabilities import ClientCapabilities
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.meta import NO_META, Meta, RequestMeta

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
"""The levels of RFC 5424, least severe first."""

RequestId: TypeAlias = int | str


class Params(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of any request."""

    meta: RequestMeta = field(name="_meta", default=NO_META)


class InitializeParams(Params, frozen=True, kw_only=True, rename="camel"):
    protocol_version: str
    capabilities: ClientCapabilities
    client_info: Implementation


class ListParams(Params, frozen=True, kw_only=True):
    cursor: str | UnsetType = UNSET


class TaskRequest(Struct, frozen=True):
    """2025-11-25: the wish to run a request as a task."""

    ttl: int | UnsetType = UNSET


class AnswerableParams(Params, frozen=True, kw_only=True, rename="camel"):
    """Params of requests with input requests (2026-07-28, MRTR)."""

    input_responses: dict[str, Raw] | UnsetType = UNSET
    request_state: str | UnsetType = UNSET


class CallToolParams(AnswerableParams, frozen=True, kw_only=True, rename="camel"):
    name: str
    arguments: Raw | UnsetType = UNSET
    task: TaskRequest | UnsetType = UNSET


class ReadResourceParams(AnswerableParams, frozen=True, kw_only=True, rename="camel"):
    uri: str


class GetPromptParams(AnswerableParams, frozen=True, kw_only=True, rename="camel"):
    name: str
    arguments: dict[str, str] | UnsetType = UNSET


class PromptReference(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="ref/prompt"):
    name: str
    title: str = ""


class ResourceReference(Struct, frozen=True, tag_field="type", tag="ref/resource"):
    uri: str


class CompletionArgument(Struct, frozen=True):
    name: str
    value: str


class CompletionContext(Struct, frozen=True):
    arguments: dict[str, str] = {}


class CompleteParams(Params, frozen=True, kw_only=True):
    ref: PromptReference | ResourceReference
    argument: CompletionArgument
    context: CompletionContext = CompletionContext()


class ResourceParams(Params, frozen=True, kw_only=True):
    """Params of `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class SetLevelParams(Params, frozen=True, kw_only=True):
    level: LogLevel


class SubscriptionFilter(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """2026-07-28: the notifications that a client subscribes to."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[str] = []
    task_ids: list[str] = []
    """Tasks extension: the tasks with status notifications."""


class ListenParams(Params, frozen=True, kw_only=True):
    notifications: SubscriptionFilter


class AcknowledgedParams(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Params of `notifications/subscriptions/acknowledged`, 2026-07-28.

    They hold the part of the filter that the server honours.
    """

    notifications: SubscriptionFilter
    meta: Meta | None = field(name="_meta", default=None)


class UpdatedParams(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Params of `notifications/resources/updated`."""

    uri: str
    meta: Meta | None = field(name="_meta", default=None)


class CancelledParams(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    request_id: RequestId | UnsetType = UNSET
    """Absent in 2025-11-25 where a task is meant."""
    reason: str = ""
    meta: Meta | None = field(name="_meta", default=None)


class ProgressParams(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    progress_token: RequestId
    progress: float
    total: float | None = None
    message: str = ""
    """From 2025-03-26 on."""
    meta: Meta | None = field(name="_meta", default=None)


class LogParams(Struct, frozen=True, kw_only=True, omit_defaults=True):
    level: LogLevel
    data: Any
    logger: str = ""
    meta: Meta | None = field(name="_meta", default=None)


class ElicitationCompleteParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of `notifications/elicitation/complete`, 2025-11-25.

    The user has finished with the page.
    """

    elicitation_id: str
