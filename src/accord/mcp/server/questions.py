"""Questions that a handler can ask: the user, the client's model, or for roots.

Each question knows its wire form, the client capabilities that it needs, and the decoding of its
answer. Knows no transport.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.msgspec_types import REFUSALS
from accord.jsonrpc.params_errors import ValueRefusedError
from accord.mcp.protocol.asking import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrl as ElicitUrlParams,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    ToolChoice,
)
from accord.mcp.protocol.capabilities import ClientCapabilities
from accord.mcp.protocol.content import SamplingContent, TextContent
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.versions import V2025_06_18, V2025_11_25, Era, era
from accord.mcp.server.form import form_of
from accord.mcp.server.form_check import problem_with

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Method: TypeAlias = Literal["elicitation/create", "sampling/createMessage", "roots/list"]

_read_elicited = msgspec.json.Decoder(ElicitResult).decode
_read_message = msgspec.json.Decoder(CreateMessageResult).decode
_read_roots = msgspec.json.Decoder(ListRootsResult).decode


class Accepted(Struct, Generic[T], frozen=True):
    """The user's answer."""

    content: T
    action: Literal["accept"] = "accept"


class Declined(Struct, frozen=True):
    """The user's refusal."""

    action: Literal["decline"] = "decline"


class Cancelled(Struct, frozen=True):
    """No decision: the user closed the form."""

    action: Literal["cancel"] = "cancel"


Answer: TypeAlias = Accepted[T] | Declined | Cancelled


class AnswerRefusedError(Exception):
    """An invalid answer to a question.

    Its text gives the reason and repeats no value.
    """


class Question(Protocol[T_co]):
    """A question to a client."""

    label: ClassVar[str]
    """The prefix of its key."""
    method: ClassVar[Method]

    def needs(self) -> dict[str, Any]:
        """Return the capabilities that a client must have declared."""

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        """Return whether a client with these capabilities can be asked."""

    def params(self, version: str) -> Any:
        """Return the params of the request in `version`; UNSET for none."""

    def read(self, raw: bytes) -> T_co:
        """Return the answer.

        Raises `AnswerRefusedError`.
        """


class Elicit(Generic[T]):
    """A form for the user: a type, a schema, or nothing but yes or no."""

    label: ClassVar = "elicitation"
    method: ClassVar[Method] = "elicitation/create"

    @overload
    def __init__(self: Elicit[None], message: str) -> None: ...
    @overload
    def __init__(self: Elicit[dict[str, Any]], message: str, form: dict[str, Any]) -> None: ...
    @overload
    def __init__(self, message: str, form: type[T]) -> None: ...
    def __init__(self, message: str, form: Any = None) -> None:
        self.message = message
        self._form = form_of(form)

    def needs(self) -> dict[str, Any]:
        return {"elicitation": {"form": {}}}

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        wanted = capabilities.elicitation
        since = max(V2025_06_18, self._form.since)
        return wanted is not None and wanted.takes_form and version >= since

    def params(self, version: str) -> ElicitForm:
        return ElicitForm(message=self.message, requested_schema=self._form.schema_in(version))

    def read(self, raw: bytes) -> Answer[T]:
        found = _elicited(raw)
        if found.action != "accept":
            return Declined() if found.action == "decline" else Cancelled()
        content = {} if found.content is None else found.content
        problem = problem_with(content, self._form.schema)
        if problem:
            raise AnswerRefusedError(problem)
        try:
            return Accepted(self._form.read(content))
        except ValueRefusedError as refused:
            raise AnswerRefusedError(refused.problems[0].message) from None


class ElicitUrl:
    """A page for the user to open, for data that the client must not see.

    Acceptance means that the user has agreed to open it, not that they have finished. With an `id`,
    `server.elicitation_completed(id)` notifies the client when they have.
    """

    label: ClassVar = "elicitation"
    method: ClassVar[Method] = "elicitation/create"

    def __init__(self, message: str, url: str, *, id: str) -> None:
        self.message = message
        self.url = url
        self.id = id

    def needs(self) -> dict[str, Any]:
        return {"elicitation": {"url": {}}}

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        wanted = capabilities.elicitation
        return wanted is not None and wanted.url is not None and version >= V2025_11_25

    def params(self, version: str) -> ElicitUrlParams:
        # 2025-11-25, elicitation: the id is required; from 2026-07-28 on there is none.
        has_id = era(version) is Era.HANDSHAKE
        return ElicitUrlParams(
            message=self.message, url=self.url, elicitation_id=self.id if has_id else UNSET
        )

    def read(self, raw: bytes) -> Answer[None]:
        match _elicited(raw).action:
            case "accept":
                return Accepted(None)
            case "decline":
                return Declined()
            case _:
                return Cancelled()


class Sample:
    """A conversation for the client's model to continue."""

    label: ClassVar = "sampling"
    method: ClassVar[Method] = "sampling/createMessage"

    def __init__(
        self,
        messages: str | SamplingMessage | Sequence[str | SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | UnsetType = UNSET,
        model_preferences: ModelPreferences | str | Sequence[str] | None = None,
        temperature: float | UnsetType = UNSET,
        stop_sequences: list[str] | UnsetType = UNSET,
        include_context: Literal["none", "thisServer", "allServers"] | UnsetType = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
        tools: list[Tool] | UnsetType = UNSET,
        tool_choice: Literal["auto", "required", "none"] | UnsetType = UNSET,
    ) -> None:
        self._uses_context = include_context is not UNSET and include_context != "none"
        self._uses_tools = tools is not UNSET or tool_choice is not UNSET
        self._params = CreateMessage(
            messages=_messages(messages),
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            model_preferences=_preferences(model_preferences),
            temperature=temperature,
            stop_sequences=stop_sequences,
            include_context=include_context,
            metadata=metadata,
            tools=tools,
            tool_choice=UNSET if tool_choice is UNSET else ToolChoice(tool_choice),
        )

    def needs(self) -> dict[str, Any]:
        features: dict[str, Any] = {"tools": {}} if self._uses_tools else {}
        if self._uses_context:
            features["context"] = {}
        return {"sampling": features}

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        wanted = capabilities.sampling
        if wanted is None:
            return False
        if self._uses_tools and (wanted.tools is None or version < V2025_11_25):
            return False
        # 2025-11-25, sampling: before that, every client could be asked to include context.
        return not self._uses_context or wanted.context is not None or version < V2025_11_25

    def params(self, version: str) -> CreateMessage:
        return self._params

    def read(self, raw: bytes) -> CreateMessageResult:
        try:
            return _read_message(raw)
        except REFUSALS:
            raise AnswerRefusedError("it is no message of a model") from None


class Roots:
    """The question for the locations that the server may work in."""

    label: ClassVar = "roots"
    method: ClassVar[Method] = "roots/list"

    def needs(self) -> dict[str, Any]:
        return {"roots": {}}

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        return capabilities.roots is not None

    def params(self, version: str) -> UnsetType:
        return UNSET

    def read(self, raw: bytes) -> list[Root]:
        try:
            return _read_roots(raw).roots
        except REFUSALS:
            raise AnswerRefusedError("it is no list of roots") from None


def problem_with_answer(request: bytes, answer: bytes) -> str:
    """Return the problem with an answer, judged by its request; empty if none.

    For processes that take an answer and did not ask the question.
    """
    asked = _read_request(request)
    try:
        if asked.method == "roots/list":
            _read_roots(answer)
        elif asked.method == "sampling/createMessage":
            _read_message(answer)
        else:
            found = _elicited(answer)
            schema = asked.params.get("requestedSchema")
            if found.action == "accept" and schema is not None:
                return problem_with(found.content or {}, schema)
    except (AnswerRefusedError, *REFUSALS):
        return "it is no answer to this question"
    return ""


class InputRequest(Struct, frozen=True, omit_defaults=True):
    """A question on the wire: a request without an id."""

    method: Method
    params: dict[str, Any] = {}


_read_request: Final = msgspec.json.Decoder(InputRequest).decode


def _elicited(raw: bytes | Raw) -> ElicitResult:
    try:
        return _read_elicited(raw)
    except REFUSALS:
        raise AnswerRefusedError("it is no answer of a user") from None


def _messages(
    messages: str | SamplingMessage | Sequence[str | SamplingMessage],
) -> list[SamplingMessage]:
    several = [messages] if isinstance(messages, str | SamplingMessage) else messages
    return [_message(each) for each in several]


def _message(message: str | SamplingMessage) -> SamplingMessage:
    if isinstance(message, SamplingMessage):
        return message
    content: SamplingContent = TextContent(text=message)
    return SamplingMessage("user", content)


def _preferences(
    preferences: ModelPreferences | str | Sequence[str] | None,
) -> ModelPreferences | None:
    """Return preferences, with names as hints, the best first."""
    if preferences is None or isinstance(preferences, ModelPreferences):
        return preferences
    names = [preferences] if isinstance(preferences, str) else preferences
    return ModelPreferences(hints=tuple(map(ModelHint, names)))
