"""Params, results and error codes of messages, as their receiver reads them.

Unknown members are ignored, because newer versions may add some; members that belong to the
application stay as they are. Error codes depend on the version. With the extended profile, which a
server may select for clients of the handshake era (see `versions`), each failure has its own code.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.jsonrpc.methods.router import RequestFault
from accord.jsonrpc.protocol.errors import RpcError, from_wire
from accord.mcp.protocol.content import NO_META, Content, Meta, RequestMeta, ResourceContents, Role
from accord.mcp.protocol.definitions import (
    ClientCapabilities,
    Implementation,
    Prompt,
    Resource,
    ResourceTemplate,
    ServerCapabilities,
    Tool,
)
from accord.mcp.protocol.versions import Era

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
    """The member `task` of params; it asks to run a request as a task (2025-11-25)."""

    ttl: int | UnsetType = UNSET


class AnswerableParams(Params, frozen=True, kw_only=True, rename="camel"):
    """Params of requests that a server may answer with input requests.

    See 2026-07-28, multi round-trip requests (MRTR).
    """

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
    """The notifications that a client subscribes to (2026-07-28)."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[str] = []
    task_ids: list[str] = []
    """The ids of tasks with status notifications (tasks extension)."""


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
    """The id of the cancelled request; absent in 2025-11-25 where a task is cancelled."""
    reason: str = ""
    meta: Meta | None = field(name="_meta", default=None)


class ProgressParams(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    progress_token: RequestId
    progress: float
    total: float | None = None
    message: str = ""
    """A message about the progress; from 2025-03-26 on."""
    meta: Meta | None = field(name="_meta", default=None)


class LogParams(Struct, frozen=True, kw_only=True, omit_defaults=True):
    level: LogLevel
    data: Any
    logger: str = ""
    meta: Meta | None = field(name="_meta", default=None)


class ElicitationCompleteParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of `notifications/elicitation/complete`, 2025-11-25.

    The notification says that the user has finished with the page.
    """

    elicitation_id: str


CacheScope: TypeAlias = Literal["public", "private"]

COMPLETE: Final = "complete"


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Members that any result has."""

    meta: Meta | None = field(name="_meta", default=None)
    result_type: str = COMPLETE
    """The kind of result; an absent one means `complete` (2026-07-28, overview)."""


class CacheableResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A result that clients may cache, from 2026-07-28 on."""

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
    """The suggested values, at most 100."""
    total: int | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    completion: Completion


def _input_required() -> str:
    return "input_required"


class InputRequiredResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A result that asks for input, from 2026-07-28 on.

    The client repeats its request with answers to the input requests.
    """

    # From a factory, so that the encoder does not omit it as a default.
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


Profile: TypeAlias = Literal["standard", "extended"]


class Case(Struct, frozen=True):
    """The error codes of one kind of failure, and its HTTP status.

    `handshake` and `stateless` are the codes in the two eras of the protocol; `extended` is the
    code of the extended profile, which replaces `handshake`. `status` is for the stateless era.
    """

    handshake: int
    stateless: int
    extended: int
    status: int = 200


CASES: Final = {
    "resource_not_found": Case(-32002, -32602, -32001),
    "tool_not_found": Case(-32602, -32602, -32002),
    "prompt_not_found": Case(-32602, -32602, -32003),
    "invalid_tool_arguments": Case(-32602, -32602, -32034),
    "prompt_argument_missing": Case(-32602, -32602, -32043),
    "invalid_cursor": Case(-32602, -32602, -32071),
    "invalid_params": Case(-32602, -32602, -32602),
    "request_id_invalid": Case(-32600, -32600, -32067, status=400),
    "request_id_conflict": Case(-32600, -32600, -32068, status=400),
    "batch_request_too_large": Case(-32600, -32600, -32069, status=400),
    "session_not_found": Case(-32600, -32600, -32058, status=404),
    "unsupported_media_type": Case(-32600, -32600, -32019, status=415),
    "media_type_not_acceptable": Case(-32600, -32600, -32020, status=406),
    "invalid_prompt_arguments": Case(-32602, -32602, -32045),
    "prompt_render_failed": Case(-32603, -32603, -32044),
    "template_render_failed": Case(-32603, -32603, -32029),
    "completion_failed": Case(-32603, -32603, -32113),
    "invalid_meta": Case(-32602, -32602, -32602, status=400),
    "method_not_found": Case(-32601, -32601, -32601, status=404),
    "method_not_supported": Case(-32601, -32601, -32065, status=404),
    "unsupported_protocol_version": Case(-32022, -32022, -32062, status=400),
    "header_mismatch": Case(-32020, -32020, -32020, status=400),
    "capability_not_supported": Case(-32004, -32021, -32004, status=400),
    "not_initialized": Case(-32005, -32600, -32005),
    "url_elicitation_required": Case(-32042, -32603, -32042),
    "message_too_large": Case(-32012, -32600, -32012, status=413),
    "rate_limited": Case(-32010, -32603, -32010, status=429),
    "busy": Case(-32010, -32603, -32010, status=429),
    # 2026-07-28 has no code for these, and -32603 would wrongly blame the server.
    "authentication_failed": Case(-32051, -32600, -32051),
    "insufficient_permissions": Case(-32055, -32600, -32055, status=403),
    "invalid_request_state": Case(-32602, -32602, -32602),
    "content_too_large": Case(-32014, -32603, -32014),
    "max_concurrent_tools": Case(-32010, -32603, -32038, status=429),
    "tool_timeout": Case(-32009, -32603, -32032),
    "timeout": Case(-32009, -32603, -32009),
    "completion_invalid_reference": Case(-32602, -32602, -32111),
    "subscription_failed": Case(-32006, -32603, -32006),
    "task_not_found": Case(-32602, -32602, -32081),
    "task_cancelled": Case(-32603, -32603, -32084),
    "max_concurrent_tasks": Case(-32603, -32603, -32087, status=429),
    "task_already_completed": Case(-32602, -32602, -32090),
}


def failure(
    case: str, message: str, *, era: Era, profile: Profile = "standard", **data: Any
) -> RpcError:
    """Return the error for a case, with the code of the client's era.

    `case` is a key of `CASES`.
    """
    codes = CASES[case]
    if era is Era.STATELESS:
        code = codes.stateless
    else:
        code = codes.extended if profile == "extended" else codes.handshake
    return from_wire(code, message, {"reason": case, **data})


def request_error(
    fault: RequestFault, *, era: Era, profile: Profile, of: RpcError | None = None
) -> RpcError:
    """Return the error for a batch that is refused, or a request with an invalid id.

    `of` is the error for the batch in plain JSON-RPC.
    """
    if fault == "batch_too_large":
        assert of is not None
        case = "batch_request_too_large"
        about = {name: each for name, each in of.data.items() if name != "reason"}
        return failure(case, of.message, era=era, profile=profile, **about)
    case, why = _FAULTS[fault]
    return failure(case, f"Invalid Request: {why}", era=era, profile=profile, field="id")


_FAULTS: Final[dict[RequestFault, tuple[str, str]]] = {
    # 2025-11-25 and 2026-07-28, requests: a string or an integer, never null, …
    "invalid_id": ("request_id_invalid", "'id' must be a string or an integer"),
    # … and not that of another request in flight.
    "id_conflict": ("request_id_conflict", "a request with this 'id' is being served"),
}


def standard_reason(code: int, era: Era) -> str | None:
    """Return the name that the MCP specification gives to an error code.

    Return None if it is the same name as in Accord's error catalogue.
    """
    return _STANDARD[era].get(code)


_STANDARD: Final[dict[Era, dict[int, str]]] = {
    Era.HANDSHAKE: {-32002: "resource_not_found"},
    Era.STATELESS: {
        -32020: "header_mismatch",
        -32021: "capability_not_supported",
        -32022: "unsupported_protocol_version",
    },
}


def case_of(data: Any) -> Case | None:
    """Return the entry of `CASES` for the `reason` in an error's data; None if none."""
    reason = data.get("reason") if isinstance(data, dict) else None
    return CASES.get(reason) if isinstance(reason, str) else None
