"""Handlers of a server's input requests: sampling, elicitation, roots.

The same input requests arrive as JSON-RPC requests in the handshake era, and inside results in the
stateless era. A feature without a handler is not declared in the capabilities, and requests for it
are refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.jsonrpc.protocol.errors import own_error
from accord.mcp.protocol.content import TextContent
from accord.mcp.protocol.definitions import ClientCapabilities, Elicitation, ListFeature, Sampling
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    InputRequest,
    ListRootsResult,
    Root,
)
from accord.mcp.protocol.tasks import EXTENSION as TASKS_EXTENSION

T = TypeVar("T")

MaybeAwaitable: TypeAlias = T | Awaitable[T]
ElicitationMode: TypeAlias = Literal["form", "url"]

SamplingHandler: TypeAlias = Callable[[CreateMessage], MaybeAwaitable[CreateMessageResult | str]]
"""Runs a model; a plain string becomes an assistant message."""
ElicitationHandler: TypeAlias = Callable[
    [ElicitForm | ElicitUrl], MaybeAwaitable[ElicitResult | dict[str, Any] | None]
]
"""Asks the user: a dict is the content of the completed form, None declines."""
RootsHandler: TypeAlias = Callable[[], MaybeAwaitable[Sequence[Root | str | Path]]]

UNNAMED_MODEL = "unknown"


class _Mode(Struct):
    mode: str = "form"


class InputHandlers:
    """The application's handlers of input requests."""

    def __init__(
        self,
        *,
        sampling: SamplingHandler | None = None,
        sampling_tools: bool = False,
        elicitation: ElicitationHandler | None = None,
        elicitation_modes: Sequence[ElicitationMode] = ("form", "url"),
        roots: RootsHandler | Sequence[Root | str | Path] | None = None,
    ) -> None:
        self._sampling = sampling
        self._sampling_tools = sampling_tools
        self._elicitation = elicitation
        self._modes = frozenset(elicitation_modes)
        self._roots = roots
        self._answers: dict[str, Callable[[Any], Awaitable[Any]]] = {}
        if sampling is not None:
            self._answers["sampling/createMessage"] = self._sample
        if elicitation is not None:
            self._answers["elicitation/create"] = self._elicit
        if roots is not None:
            self._answers["roots/list"] = self._list_roots

    @property
    def methods(self) -> list[str]:
        """Return the methods that have a handler."""
        return list(self._answers)

    @property
    def capabilities(self) -> ClientCapabilities:
        return ClientCapabilities(
            roots=None if self._roots is None else ListFeature(list_changed=callable(self._roots)),
            sampling=None
            if self._sampling is None
            else Sampling(tools={} if self._sampling_tools else None),
            elicitation=None
            if self._elicitation is None
            else Elicitation(
                form={} if "form" in self._modes else None,
                url={} if "url" in self._modes else None,
            ),
            extensions={TASKS_EXTENSION: {}},
        )

    async def answer(self, request: InputRequest) -> Any:
        """Return the result of an input request. Raise RpcError if it has no handler."""
        answer = self._answers.get(request.method)
        if answer is None:
            raise own_error("method_not_found", f"Method not found: {request.method[:100]}")
        return await answer(request.params)

    async def _sample(self, params: Any) -> CreateMessageResult:
        assert self._sampling is not None
        asked = _read(params, CreateMessage)
        if not self._sampling_tools and (asked.tools or asked.tool_choice):
            # 2025-11-25, sampling: tools for a client without `sampling.tools` are an error.
            raise own_error("invalid_params", "Invalid params: tools are not declared here")
        result: CreateMessageResult | str = await _settled(self._sampling(asked))
        if isinstance(result, str):
            content = TextContent(text=result)
            return CreateMessageResult(role="assistant", content=content, model=UNNAMED_MODEL)
        return result

    async def _elicit(self, params: Any) -> ElicitResult:
        assert self._elicitation is not None
        mode = _read(params, _Mode).mode
        if mode not in self._modes:
            # 2025-11-25, elicitation: -32602 for a mode that was not declared.
            raise own_error("invalid_params", f"Invalid params: no elicitation by {mode[:40]}")
        asked: ElicitForm | ElicitUrl
        asked = _read(params, ElicitUrl) if mode == "url" else _read(params, ElicitForm)
        result: ElicitResult | dict[str, Any] | None
        result = await _settled(self._elicitation(asked))
        if result is None:
            return ElicitResult(action="decline")
        if isinstance(result, dict):
            result = ElicitResult(action="accept", content=result)
        if result.action != "accept" or isinstance(asked, ElicitUrl):
            return replace(result, content=None)
        return replace(result, content={**defaults_in(asked), **(result.content or {})})

    async def _list_roots(self, params: Any) -> ListRootsResult:
        roots = await _settled(self._roots()) if callable(self._roots) else self._roots
        return ListRootsResult(roots=[_root(each) for each in roots or ()])


def defaults_in(form: ElicitForm) -> dict[str, Any]:
    """Return the default values of a form's fields (2025-11-25, elicitation)."""
    properties = form.requested_schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: field["default"]
        for name, field in properties.items()
        if isinstance(field, dict) and "default" in field
    }


def _root(root: Root | str | Path) -> Root:
    if isinstance(root, Root):
        return root
    if isinstance(root, Path):
        return Root(uri=root.absolute().as_uri(), name=root.name)
    return Root(uri=root)


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _read(params: Any, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(b"{}" if params is UNSET else params, type=kind)
    except REFUSALS as error:
        raise own_error("invalid_params", f"Invalid params: {error}") from None
