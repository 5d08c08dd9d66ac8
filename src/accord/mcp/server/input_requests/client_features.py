"""The features of clients: elicitation, sampling and roots, as questions of a handler.

Elicitation asks the user, with a form or with a page that the user opens. Sampling asks the
client's model. Roots are the folders that the server may work in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.methods.param_values import REFUSALS, ValueRefusedError
from accord.mcp.protocol.content import SamplingContent, TextContent
from accord.mcp.protocol.definitions import ClientCapabilities, Tool
from accord.mcp.protocol.input_requests import (
    AnswerRefusedError,
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
    ListRootsResult,
    Method,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    ToolChoice,
)
from accord.mcp.protocol.versions import V2025_06_18, V2025_11_25, Era, era
from accord.mcp.server.input_requests.forms import form_of, problem_with
from accord.mcp.server.session import ClientLink, Session

T = TypeVar("T")

MAX_OPEN: Final = 10_000
"""The maximum number of remembered elicitations; beyond it the oldest are forgotten."""

_decode_elicited = msgspec.json.Decoder(ElicitResult).decode


class Accepted(Struct, Generic[T], frozen=True):
    """The answer of a user who has accepted, with the content of the form."""

    content: T
    action: Literal["accept"] = "accept"


class Declined(Struct, frozen=True):
    """The answer of a user who has declined."""

    action: Literal["decline"] = "decline"


class Cancelled(Struct, frozen=True):
    """The answer of a user who has closed the form without a decision."""

    action: Literal["cancel"] = "cancel"


Answer: TypeAlias = Accepted[T] | Declined | Cancelled


class Elicit(Generic[T]):
    """A question to the user, who fills in a form.

    The form is a type or a schema. With None as the form, the user only confirms the message.
    """

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
        capability = capabilities.elicitation
        since = max(V2025_06_18, self._form.since)
        return capability is not None and capability.takes_form and version >= since

    def params(self, version: str) -> ElicitForm:
        return ElicitForm(message=self.message, requested_schema=self._form.schema_in(version))

    def read(self, raw: bytes) -> Answer[T]:
        found = read_elicited(raw)
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

    `Accepted` means that the user has agreed to open the page, not that they have finished. When
    they have, `server.elicitation_completed(id)` notifies the client.
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
        capability = capabilities.elicitation
        return capability is not None and capability.url is not None and version >= V2025_11_25

    def params(self, version: str) -> ElicitUrlParams:
        # 2025-11-25, elicitation: the id is required; from 2026-07-28 on there is none.
        has_id = era(version) is Era.HANDSHAKE
        return ElicitUrlParams(
            message=self.message, url=self.url, elicitation_id=self.id if has_id else UNSET
        )

    def read(self, raw: bytes) -> Answer[None]:
        match read_elicited(raw).action:
            case "accept":
                return Accepted(None)
            case "decline":
                return Declined()
            case _:
                return Cancelled()


def read_elicited(raw: bytes | Raw) -> ElicitResult:
    try:
        return _decode_elicited(raw)
    except REFUSALS:
        raise AnswerRefusedError("it is no answer of a user") from None


class Elicitations:
    """The open URL elicitations of the handshake era, by id.

    The elicitations of a session are forgotten when the session ends.
    """

    def __init__(self) -> None:
        self._links: dict[str, ClientLink] = {}
        self._sessions: set[Session] = set()
        self.on_unknown: Callable[[str], None] | None = None
        """A callback that gets the id of an elicitation that this process does not know, and
        forwards it to the other processes."""

    def __len__(self) -> int:
        return len(self._links)

    def remember(self, id: str, link: ClientLink) -> None:
        session = link.session
        if session is not None and session not in self._sessions:
            self._sessions.add(session)
            link.at_end(lambda: self._forget(session))
        self._links[id] = link
        if len(self._links) > MAX_OPEN:
            del self._links[next(iter(self._links))]

    def complete(self, id: str) -> None:
        """Notify the client of an elicitation that its user has finished.

        Unknown ids are ignored: the client may be gone, or may use the stateless era, which does
        not have this notification.
        """
        if not self.complete_here(id) and self.on_unknown is not None:
            self.on_unknown(id)

    def complete_here(self, id: str) -> bool:
        """Notify the client if this process knows the elicitation; return whether it does."""
        link = self._links.pop(id, None)
        if link is not None:
            link.announce("notifications/elicitation/complete", {"elicitationId": id})
        return link is not None

    def _forget(self, session: Session) -> None:
        self._sessions.discard(session)
        for id in [id for id, link in self._links.items() if link.session is session]:
            del self._links[id]


decode_message = msgspec.json.Decoder(CreateMessageResult).decode
decode_roots = msgspec.json.Decoder(ListRootsResult).decode


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
        capability = capabilities.sampling
        if capability is None:
            return False
        if self._uses_tools and (capability.tools is None or version < V2025_11_25):
            return False
        # 2025-11-25, sampling: before that, every client could be asked to include context.
        return not self._uses_context or capability.context is not None or version < V2025_11_25

    def params(self, version: str) -> CreateMessage:
        return self._params

    def read(self, raw: bytes) -> CreateMessageResult:
        try:
            return decode_message(raw)
        except REFUSALS:
            raise AnswerRefusedError("it is no message of a model") from None


class Roots:
    """The question to the client for the locations that the server may work in."""

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
            return decode_roots(raw).roots
        except REFUSALS:
            raise AnswerRefusedError("it is no list of roots") from None


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
    """Return model preferences; names of models become hints, the best first."""
    if preferences is None or isinstance(preferences, ModelPreferences):
        return preferences
    names = [preferences] if isinstance(preferences, str) else preferences
    return ModelPreferences(hints=tuple(map(ModelHint, names)))
