"""Input requests of a server to its client: elicitation, sampling and roots.

Their params and results are the same in both eras of the protocol (see `versions`). In the
handshake era they travel as requests of the server, in the stateless era inside results and
repeated requests.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.mcp.protocol.content import Meta, Role, SamplingContent
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.messages import TaskRequest

Action: TypeAlias = Literal["accept", "decline", "cancel"]
Method: TypeAlias = Literal["elicitation/create", "sampling/createMessage", "roots/list"]


class InputRequest(Struct, frozen=True):
    """An input request in the form that results and tasks contain: without an id."""

    method: str
    params: Raw = Raw(b"{}")


class AnswerRefusedError(Exception):
    """An invalid answer to an input request.

    The message gives the reason, and contains no value from the answer.
    """


class ElicitForm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Params of `elicitation/create` with a form of flat, simple fields."""

    message: str
    requested_schema: dict[str, Any]
    mode: Literal["form"] | UnsetType = UNSET
    task: TaskRequest | UnsetType = UNSET
    meta: Meta | None = field(name="_meta", default=None)


def _url() -> Literal["url"]:
    return "url"


class ElicitUrlParams(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Params of `elicitation/create` with a page that the user opens.

    The client never sees the data that the user enters on the page.
    """

    message: str
    url: str
    elicitation_id: str | UnsetType = UNSET
    """The id of the elicitation; in 2025-11-25 only, where it is required."""
    mode: Literal["url"] = field(default_factory=_url)
    task: TaskRequest | UnsetType = UNSET
    meta: Meta | None = field(name="_meta", default=None)


class ElicitResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    action: Action
    content: dict[str, Any] | None = None
    meta: Meta | None = field(name="_meta", default=None)


class SamplingMessage(Struct, frozen=True, omit_defaults=True):
    role: Role
    content: SamplingContent | list[SamplingContent]
    meta: Meta | None = field(name="_meta", default=None)


class ModelHint(Struct, frozen=True, omit_defaults=True):
    name: str = ""


class ModelPreferences(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    hints: tuple[ModelHint, ...] = ()
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


class ToolChoice(Struct, frozen=True, omit_defaults=True):
    mode: Literal["auto", "required", "none"] | UnsetType = UNSET


class CreateMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Params of `sampling/createMessage`."""

    messages: list[SamplingMessage]
    max_tokens: int
    model_preferences: ModelPreferences | None = None
    system_prompt: str | UnsetType = UNSET
    include_context: Literal["none", "thisServer", "allServers"] | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    stop_sequences: list[str] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    tools: list[Tool] | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET
    task: TaskRequest | UnsetType = UNSET
    meta: Meta | None = field(name="_meta", default=None)


class CreateMessageResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    role: Role
    content: SamplingContent | list[SamplingContent]
    model: str
    stop_reason: str | UnsetType = UNSET
    meta: Meta | None = field(name="_meta", default=None)


class Root(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A location that the server may work in, a `file://` URI."""

    uri: str
    name: str = ""
    meta: Meta | None = field(name="_meta", default=None)


class ListRootsResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    roots: list[Root]
    meta: Meta | None = field(name="_meta", default=None)
