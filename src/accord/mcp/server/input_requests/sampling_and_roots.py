"""Sampling and roots: questions to the client's model, and for the client's roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.mcp.protocol.content import SamplingContent, TextContent
from accord.mcp.protocol.definitions import ClientCapabilities, Tool
from accord.mcp.protocol.input_requests import (
    AnswerRefusedError,
    CreateMessage,
    CreateMessageResult,
    ListRootsResult,
    Method,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    ToolChoice,
)
from accord.mcp.protocol.versions import V2025_11_25

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
            return decode_message(raw)
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
    """Return preferences, with names as hints, the best first."""
    if preferences is None or isinstance(preferences, ModelPreferences):
        return preferences
    names = [preferences] if isinstance(preferences, str) else preferences
    return ModelPreferences(hints=tuple(map(ModelHint, names)))
